"""A stored session as the audit sees it: what its agent sent, what its policy was sent, and what lies
between.

Nothing is taken from the guard, and nothing from the ledger: clean texts come out of the received bodies,
shown ones out of the events, and the sent bodies have to bear them out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from crosswind.gateway.protocols.json_values import decode
from crosswind.gateway.recorder.redaction import MASK
from crosswind.gateway.sessions.session import LiveSession
from crosswind.gateway.trajectory.content import View
from crosswind.gateway.trajectory.record import Event, Session, Trajectory, Turn
from crosswind.gateway.trajectory.timeline import is_on_wire
from crosswind.injectors.conversation import Ref, Site, ToolResult
from crosswind.injectors.engine.plan import Plan
from crosswind.studies.stored_requests import read_stored_request

_MASK = MASK.decode()
TEXTS = frozenset((Site.USER_TEXT.value, Site.TOOL_RESULT.value))
LINKS = frozenset((Site.TRANSPORT.value, Site.MODEL_RESPONSE.value))


@dataclass(frozen=True, slots=True)
class Piece:
    """One text that an agent sent: a user's, or a tool's result, with what was injected into it, in order."""

    anchor: str
    ref: Ref
    clean: str
    tool: str | None = None
    arguments: str = ""
    events: tuple[Event, ...] = ()

    @property
    def shown(self) -> str:
        """What the policy was shown in its place."""
        return str(self.events[-1].after) if self.events else self.clean

    @property
    def masked(self) -> bool:
        """Whether a secret was masked in it, so that what was shown isn't stored whole."""
        return _MASK in self.clean or any(
            _MASK in text for one in self.events for text in (one.before, one.after or "")
        )


Found = Iterator[tuple[Event | None, int, str]]
"""What a checker finds: the event, its turn, and what is wrong."""


@dataclass(frozen=True, slots=True)
class AuditedTurn:
    """One turn: the branch's texts up to it, from the beginning."""

    turn: Turn
    path: tuple[Piece, ...]
    new: tuple[Piece, ...]
    """Those that the request itself brought; what an upstream holds is on the path only."""
    tools: int
    """How many tools it declares."""
    sent: frozenset[str]
    """Every string of the body sent to the policy."""


@dataclass(frozen=True, slots=True)
class AuditedSession:
    """A session, its plan and its turns; `why_not` says why it can't be audited."""

    session: Session
    plan: Plan
    events: tuple[Event, ...]
    """All that took effect."""
    withheld: tuple[Event, ...]
    turns: tuple[AuditedTurn, ...] = ()
    all_turns: tuple[Turn, ...] = ()
    why_not: str | None = None

    def texts(self) -> Iterator[Piece]:
        """Every text once."""
        seen: set[str] = set()
        for audited in self.turns:
            for piece in audited.path:
                if piece.anchor not in seen:
                    seen.add(piece.anchor)
                    yield piece

    def user_texts(self) -> Iterator[Piece]:
        """What the user says: every text once."""
        return (piece for piece in self.texts() if piece.tool is None)

    def results(self) -> Iterator[tuple[str, Piece]]:
        """Every tool's result once, with the tool's name."""
        return ((piece.tool, piece) for piece in self.texts() if piece.tool is not None)


def read_session(trajectory: Trajectory) -> AuditedSession:
    """The session as it can be audited. ValueError where its plan can't be read."""
    session, plan = trajectory.session, Plan.from_json(trajectory.session.plan)
    # What tool legs did never stood in a request: there is nothing to compare it with.
    on_model_leg = [one for one in trajectory.events if not is_on_wire(one)]
    events = tuple(one for one in on_model_leg if one.after is not None)
    withheld = tuple(one for one in on_model_leg if one.withheld)
    chains = _by_anchor(events)
    masked = {chain[0].before: chain for chain in chains.values() if _MASK in chain[0].before}
    reader = _Reading(LiveSession(session, plan), chains, masked)
    ordered = sorted(trajectory.turns, key=lambda turn: (turn.index, turn.attempt))
    turns = tuple(audited for turn in ordered if (audited := reader.take(turn)) is not None)
    return AuditedSession(session, plan, events, withheld, turns, tuple(ordered), reader.why_not)


def _by_anchor(events: Sequence[Event]) -> Mapping[str, tuple[Event, ...]]:
    """The chain of injections into each text. Where two requests decided it at once, both decided the same:
    the first one's is taken."""
    found: dict[str, tuple[Event, ...]] = {}
    ordered = sorted(events, key=lambda one: (one.turn_index, one.attempt, one.ordinal))
    for event in ordered:
        before = found.get(event.anchor, ())
        if event.site in TEXTS and (not before or _same_turn(before[0], event)):
            found[event.anchor] = (*before, event)
    return found


def _same_turn(one: Event, other: Event) -> bool:
    return (one.turn_index, one.attempt) == (other.turn_index, other.attempt)


@dataclass(slots=True)
class _Reading:
    live: LiveSession
    events: Mapping[str, tuple[Event, ...]]
    masked_events: Mapping[str, tuple[Event, ...]]
    """Those of texts with a secret, by the masked text."""
    why_not: str | None = None
    _pieces: dict[str, Piece] = field(default_factory=dict)

    def take(self, turn: Turn) -> AuditedTurn | None:
        """The turn as it can be audited, or None, with the reason in `why_not`."""
        if turn.received is None or turn.sent is None:
            self.why_not = "its bodies are not recorded"
            return None
        read = read_stored_request(self.live, turn)
        if read is None:
            self.why_not = f"turn {turn.index}: its body is no request that can be read"
            return None
        conversation = read[1].conversation
        path = tuple(self._piece(one) for one in conversation.items)
        new = tuple(piece for piece in path if piece.ref.message >= conversation.held)
        return AuditedTurn(turn, path, new, len(conversation.tools), strings(turn.sent))

    def _piece(self, item: Any) -> Piece:
        known = self._pieces.get(item.anchor)
        if known is not None and known.ref == item.ref:
            return known
        events = self.events.get(item.anchor, ())
        if not events and _MASK in item.text:
            # The anchor is made of the text before it was masked.
            events = self.masked_events.get(item.text, ())
        if isinstance(item, ToolResult):
            name, arguments = item.call.name, item.call.arguments
            piece = Piece(item.anchor, item.ref, item.text, name, arguments, events)
        else:
            piece = Piece(item.anchor, item.ref, item.text, events=events)
        self._pieces[item.anchor] = piece
        return piece


def strings(view: View) -> frozenset[str]:
    """Every string of a JSON body."""
    try:
        pending: list[Any] = [decode(view.bytes())]
    except (ValueError, RecursionError):
        return frozenset()
    found: set[str] = set()
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            found.add(value)
        elif isinstance(value, dict):
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)
    return frozenset(found)
