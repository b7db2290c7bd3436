"""Walks along a conversation that a later one can go on from.

Clients resend their whole history. To look each of its items up and count it again with every turn would
cost a session the square of its length: where a conversation begins with one that was walked, its counters
and what it was shown are taken over. What comes of it is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from crosswind.injectors.conversation import Conversation, Ref
from crosswind.injectors.engine.counters import Path
from crosswind.injectors.engine.decision import Item, Known, NewlyShown
from crosswind.injectors.engine.plan import Plan

MOST_KEPT = 4
"""Walks that are kept of a session: its branches, and the beginnings of a last message that changed."""
ITEM_BYTES = 200
"""About what an item of a walk takes."""


@dataclass(frozen=True, slots=True)
class Walked:
    """One walk's end."""

    plan: Plan
    known: Mapping[str, Known]
    items: tuple[Item, ...]
    new: tuple[NewlyShown, ...]
    """What was decided on the walk: to be gone on from only if it was kept so."""
    texts: Mapping[Ref, str]
    """The noisy texts, those that are held elsewhere too."""
    path: Path
    turn: int
    part: int
    """Both of the last item (`path.Place`)."""

    def begins(self, plan: Plan, conversation: Conversation, known: Mapping[str, Known]) -> bool:
        """Whether a walk along this conversation would come here too. What is known of an anchor never
        changes, so that only what was new on the walk is asked for again."""
        return (
            self.plan is plan
            and self.known is known
            and conversation.items[: len(self.items)] == self.items
            and all(_kept(new, known.get(new.item.anchor)) for new in self.new)
        )


def _kept(new: NewlyShown, known: Known | None) -> bool:
    return known is not None and known.text == new.text and known.decisions == new.decisions


@dataclass(slots=True)
class Perturbed:
    """The noise of a conversation: all texts that differ from the clean ones, and what the ledger didn't
    know."""

    replacements: dict[Ref, str] = field(default_factory=dict)
    new: list[NewlyShown] = field(default_factory=list)
    walked: Walked | None = None
    """Where a later walk may go on from; None: from here none can."""


class Walks:
    """The walks of one session that were made last."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: list[Walked] = []

    @property
    def size(self) -> int:
        """About how many bytes they take."""
        return ITEM_BYTES * sum(len(walked.items) for walked in self._kept)

    def before(self, plan: Plan, conversation: Conversation, known: Mapping[str, Known]) -> Walked | None:
        """The longest walk with which this conversation begins."""
        found: Walked | None = None
        for walked in reversed(self._kept):
            longer = found is None or len(walked.items) > len(found.items)
            if longer and walked.begins(plan, conversation, known):
                found = walked
        return found

    def keep(self, walked: Walked | None) -> None:
        """Keep one more, in place of the oldest."""
        if walked is not None:
            self._kept.append(walked)
            del self._kept[:-MOST_KEPT]

    def forget(self) -> None:
        """Keep none: what was decided on them was taken back."""
        self._kept.clear()
