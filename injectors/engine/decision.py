"""The data around every walk: decisions, what the ledger knows of an item, and what was done to it."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from crosswind.injectors import registry
from crosswind.injectors.conversation import Item
from crosswind.injectors.engine.stored_data import StoredData
from crosswind.injectors.targets import Draw, Recovery, Withheld


class Decision(msgspec.Struct, StoredData, frozen=True, gc=False):
    """One application of an operator. With the clean payload it gives the noisy one again: see
    `messages.replay`."""

    stored_as: ClassVar = "decision"

    operator: str
    rule: str
    site: str
    slot: str
    anchor: str
    logical_call: str | None
    severity: float
    draw: Draw
    recovery: str
    version: int = 1
    """The operator's, when it decided."""

    @property
    def fault(self) -> bool:
        """Whether it destroyed a result. An operator no longer installed is judged by its recovery, on the
        safe side."""
        entry = registry.operators().get(self.operator)
        return entry.fault if entry else self.recovery in (Recovery.RETRY, Recovery.OTHER_TOOL)


class KnownText(msgspec.Struct, frozen=True, gc=False):
    """What the ledger knows of an anchor: the noisy text (None: shown clean) and the decisions that made
    it."""

    text: str | None
    decisions: tuple[Decision, ...] = ()


class Injection(msgspec.Struct, frozen=True, gc=False):
    """What an operator did to a text. `after` is None where the guard withheld it; `note` says what and
    why."""

    decision: Decision
    before: str
    after: str | None
    note: str
    tool: str | None = None
    tool_class: str | None = None
    withheld: Withheld | None = None
    """Why the guard withheld it."""


class NewText(msgspec.Struct, frozen=True, gc=False):
    """An item whose anchor was unknown. `text` is None where it is shown clean."""

    item: Item
    decisions: tuple[Decision, ...]
    text: str | None
    injections: tuple[Injection, ...]
