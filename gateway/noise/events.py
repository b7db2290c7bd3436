"""Build the events of one turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from crosswind.gateway.protocols.history import HistoryStep
from crosswind.gateway.protocols.json_values import encode
from crosswind.gateway.recorder.redaction import Redactor
from crosswind.gateway.sessions.ledger import clean_hash
from crosswind.gateway.sessions.turns import TurnPosition
from crosswind.gateway.trajectory.ledger_rows import Shown
from crosswind.gateway.trajectory.record import Event
from crosswind.injectors.conversation import InstructionText, Site
from crosswind.injectors.engine.decision import Decision, Injection, NewText
from crosswind.injectors.identity import is_digest
from crosswind.injectors.registry import is_ours
from crosswind.injectors.wording import WORDING

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

    def build(self, one: Injection) -> Event:
        """The event of an injection that may hold a secret."""
        decision, after = one.decision, one.after
        mask, name = self.redactor.mask_text, self.redactor.mask_name
        return replace(
            self.build_clean(one, clean_hash(one.before)),
            # Only a tool's name can bring a secret into it.
            slot=name(decision.slot) if decision.site == Site.TOOL_SCHEMA else decision.slot,
            anchor=decision.anchor if is_digest(decision.anchor) else name(decision.anchor),
            draw=self._draw(decision),
            before=mask(one.before),
            after=None if after is None else mask(after),
            note=mask(one.note),
        )

    def build_clean(self, one: Injection, said: str) -> Event:
        """The event of an injection without a secret (`is_clean`). `said`: the hash of the text before."""
        decision, tool = one.decision, one.tool
        ordinal, self.ordinal = self.ordinal, self.ordinal + 1
        return Event(
            self.session_id,
            self.place.index,
            ordinal,
            decision.operator,
            decision.site,
            decision.slot,
            decision.anchor,
            decision.logical_call,
            decision.severity,
            decision.draw,
            said,
            one.before,
            one.after,
            decision.recovery,
            one.note,
            None if tool is None else self.redactor.mask_name(tool),
            one.tool_class,
            self.place.attempt,
            self.now_us,
            decision.version,
        )

    @property
    def knows_secrets(self) -> bool:
        """Whether all messages were searched for secrets, and the session has shown none that noise could
        repeat."""
        return self.redactor.mode == "redact" and not self.redactor.has_seen_secrets

    def is_clean(self, new: NewText, steps: Sequence[HistoryStep]) -> bool:
        """Whether neither a text nor its noise can hold a secret, where secrets are known: none was found in
        its message when that was read, and operators of ours bring none along. `steps` are the history's
        messages.
        """
        item = new.item
        if isinstance(item, InstructionText) or steps[item.ref.message].masked:
            return False
        for one in new.injections:
            if WORDING in one.decision.draw or not is_ours(one.decision.operator):
                return False
        return True

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
