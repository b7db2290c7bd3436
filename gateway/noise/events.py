"""Build the events of one turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from crosswind.gateway.protocols.json_values import encode
from crosswind.gateway.recorder.redaction import Redactor
from crosswind.gateway.sessions.ledger import clean_hash
from crosswind.gateway.sessions.turns import TurnPosition
from crosswind.gateway.trajectory.ledger_rows import Shown
from crosswind.gateway.trajectory.record import Event
from crosswind.injectors.conversation import Site
from crosswind.injectors.engine.decision import Decision
from crosswind.injectors.identity import is_digest

NO_TURN = -1
"""The turn index of events outside turns."""
NOT_ASKED = "none"
"""Stands for all operators, where none was called."""


class EventBuilder(msgspec.Struct):
    """Build the events of one turn."""

    session_id: str
    place: TurnPosition
    now_us: int
    redactor: Redactor
    ordinal: int = 0

    def build(
        self,
        decision: Decision,
        before: str,
        after: str | None,
        note: str,
        *,
        tool: str | None = None,
        tool_class: str | None = None,
    ) -> Event:
        mask, name = self.redactor.mask_text, self.redactor.mask_name
        ordinal, self.ordinal = self.ordinal, self.ordinal + 1
        return Event(
            session_id=self.session_id,
            turn_index=self.place.index,
            ordinal=ordinal,
            operator=decision.operator,
            site=decision.site,
            # Only a tool's name can bring a secret into it.
            slot=name(decision.slot) if decision.site == Site.TOOL_SCHEMA else decision.slot,
            anchor=decision.anchor if is_digest(decision.anchor) else name(decision.anchor),
            logical_call=decision.logical_call,
            severity=decision.severity,
            draw=self._draw(decision),
            clean_hash=clean_hash(before),
            before=mask(before),
            after=None if after is None else mask(after),
            recovery=decision.recovery,
            note=mask(note),
            tool=None if tool is None else name(tool),
            tool_class=tool_class,
            attempt=self.place.attempt,
            created_us=self.now_us,
        )

    def _draw(self, decision: Decision) -> Mapping[str, Any]:
        raw = encode(decision.draw)
        return {"redacted": True} if self.redactor.mask(raw) is not raw else decision.draw

    def storable(self, shown: Shown) -> bool:
        """Whether a row may be stored. A shown text with a secret stays in memory, since after a restart it
        would be shown masked; what the stored ledger lacks is recomputed from the plan.
        """
        if not (is_digest(shown.anchor) or self.redactor.is_clean_name(shown.anchor)):
            return False
        if shown.text is None:
            return True
        if not self.redactor.is_clean(shown.text):
            return False
        # A draw may quote what noise took out of the text.
        raw = encode(shown.decisions) if self.redactor.has_seen_secrets else b""
        return self.redactor.mask(raw) is raw

    def no_operator(self, note: str) -> Event:
        """The event that says why no operator was called in this turn."""
        event = _build_empty(self.session_id, self.place, self.ordinal, self.now_us, note)
        self.ordinal += 1
        return event


def no_operator_outside_turns(session_id: str, now_us: int, note: str) -> Event:
    """The event that says why no operator was called outside turns. Its time is its ordinal."""
    return _build_empty(session_id, TurnPosition(NO_TURN), now_us, now_us, note)


def _build_empty(session_id: str, place: TurnPosition, ordinal: int, now_us: int, note: str) -> Event:
    return Event(
        *(session_id, place.index, ordinal, NOT_ASKED, Site.MODEL_RESPONSE.value),
        slot="",
        anchor="",
        logical_call=None,
        severity=0.0,
        draw={},
        clean_hash="",
        before="",
        after=None,
        recovery="",
        note=note,
        attempt=place.attempt,
        created_us=now_us,
    )
