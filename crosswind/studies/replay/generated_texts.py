"""What models wrote in a session, out of its events: a replay asks no model.

Which form an operator's noise had is recorded with each draw, so that a text that came too late then is not
taken for one that was there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from crosswind.gateway.trajectory.record import Event
from crosswind.injectors.wording import MODEL, WORDING, Given, Prompt


class Recorded:
    """The `Texts` of a session that was recorded."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._by_slot: dict[str, Mapping[str, Any]] = {
            event.slot: event.draw[WORDING] for event in events if WORDING in event.draw
        }

    def __bool__(self) -> bool:
        return bool(self._by_slot)

    def get(self, slot: str, prompt: Prompt) -> Given | None:
        wording = self._by_slot.get(slot)
        if wording is None:
            return None
        if wording["form"] == MODEL:
            return Given(wording["text"], wording["model"])
        return Given(None, why=wording["why"])
