"""Resume a walk along a conversation where an earlier one ended.

Clients resend their whole history. To look up and count each of its items with every turn would cost a
session the square of its length, so a conversation that begins with a walked one takes over its counters and
its texts. The result is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from crosswind.injectors.conversation import Conversation, Item, Ref
from crosswind.injectors.engine.counters import BranchCounters
from crosswind.injectors.engine.decision import KnownText, NewText
from crosswind.injectors.engine.plan import Plan

MOST_KEPT = 4
"""Walks that are kept of a session: its branches, and the beginnings of a last message that changed."""
ITEM_BYTES = 200
"""About what an item of a walk takes."""


class WalkEnd(msgspec.Struct, frozen=True, eq=False, gc=False):
    """The end of one walk."""

    plan: Plan
    known: Mapping[str, KnownText]
    items: tuple[Item, ...]
    new: tuple[NewText, ...]
    """What was decided on the walk: it can be resumed only if the ledger kept all of it."""
    texts: Mapping[Ref, str]
    """The noisy texts, those included that the upstream holds."""
    counters: BranchCounters
    turn: int
    """Of the last item."""
    part: int
    """Of the last item, among its message's texts."""

    def begins(self, plan: Plan, conversation: Conversation, known: Mapping[str, KnownText]) -> bool:
        """Whether a walk along this conversation would come here too. What is known of an anchor never
        changes, so only what was new on the walk is looked up again."""
        if (
            self.plan is not plan
            or self.known is not known
            or conversation.items[: len(self.items)] != self.items
        ):
            return False
        for new in self.new:
            kept = known.get(new.item.anchor)
            if kept is None or kept.text != new.text or kept.decisions != new.decisions:
                return False
        return True


class MessageNoise(msgspec.Struct, gc=False):
    """The noise of a conversation: all texts that differ from the clean ones, and what the ledger didn't
    know."""

    replacements: dict[Ref, str] = {}
    new: list[NewText] = []
    walked: WalkEnd | None = None
    """Where a later walk may resume; None: nowhere."""


@dataclass(slots=True)
class Walks:
    """The latest walks of one session."""

    size: int = 0
    """About how many bytes they take."""
    _kept: list[WalkEnd] = field(default_factory=list)

    def before(
        self, plan: Plan, conversation: Conversation, known: Mapping[str, KnownText]
    ) -> WalkEnd | None:
        """The longest walk with which this conversation begins."""
        found: WalkEnd | None = None
        for walked in reversed(self._kept):
            longer = found is None or len(walked.items) > len(found.items)
            if longer and walked.begins(plan, conversation, known):
                found = walked
        return found

    def keep(self, walked: WalkEnd | None) -> None:
        """Keep one more, in place of the oldest."""
        if walked is not None:
            self._kept.append(walked)
            self.size += ITEM_BYTES * len(walked.items)
            if len(self._kept) > MOST_KEPT:
                self.size -= ITEM_BYTES * len(self._kept.pop(0).items)

    def forget(self) -> None:
        """Keep none: what was decided on them was taken back."""
        self._kept.clear()
        self.size = 0
