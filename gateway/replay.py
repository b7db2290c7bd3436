"""What a policy was sent, computed again from the record alone: a session's plan and what its agent sent.

The stored ledger is not consulted: a replay that gives the same bytes shows that the noise follows from the
plan, and that the record is whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.noise import (
    LEDGER_UNAVAILABLE,
    NOISE_FAILED,
    NOISE_STOPPED,
    Circumstances,
    Noise,
    noise_in,
)
from gateway.opening import LiveSession
from gateway.protocols.codec import codec_named
from gateway.recalling import tell
from gateway.redaction import Redactor
from gateway.trajectory.record import Event, Session, Turn
from gateway.turns import Place
from injectors.plan import Plan

_WITHOUT_NOISE = frozenset((LEDGER_UNAVAILABLE, NOISE_FAILED, NOISE_STOPPED))
_nothing_hidden = Redactor("keep")


@dataclass(frozen=True, slots=True)
class Replayed:
    """A turn as the replay has it."""

    turn: Turn
    sent: bytes
    """The body sent to the policy, recomputed."""
    events: tuple[Event, ...]
    """What was injected in this turn, recomputed; `created_us` is the turn's."""

    @property
    def same(self) -> bool:
        """Whether the body is, byte for byte, the one that was stored as sent."""
        return self.turn.sent is not None and self.turn.sent.bytes() == self.sent


def replay(session: Session, turns: Sequence[Turn], *, captured: bool) -> list[Replayed]:
    """Recompute what the policy was sent in each turn whose body is stored, in the order of the turns.

    `captured` says whether the gateway asked the engine for token ids then (its setting `capture`; under
    `auto` it does in sessions of a group). Not replayed are requests that were spared noise by a header, and
    bodies in which a secret was masked. ValueError where the session's plan can't be read.
    """
    live = LiveSession(session, Plan.from_json(session.plan))
    live.mark(noise_stopped=False)
    ordered = sorted(turns, key=lambda turn: (turn.index, turn.attempt))
    return [found for turn in ordered if (found := _replayed(live, turn, captured)) is not None]


def _replayed(live: LiveSession, turn: Turn, captured: bool) -> Replayed | None:
    """One turn, as `gateway.proxy` put it together; None where no body is stored that can be read."""
    codec = codec_named(turn.protocol)
    split = codec.split(turn.received.bytes()) if codec and turn.received else None
    if codec is None or split is None:
        return None
    mask = _nothing_hidden.mask
    request = codec.read(split, live.reader(codec), mask)
    tell(request, turn)
    noise = Noise()
    if turn.fitness not in _WITHOUT_NOISE:
        place = Place(turn.index, turn.attempt, turn.parent, turn.branch)
        now = Circumstances(True, True, request.stream, turn.created_us)
        noise = noise_in(live, codec, request, place, now, _nothing_hidden)
    edits = codec.capture_edits(request, training=live.training)[0] if captured and codec.tokens else {}
    sent = request.document.body
    edits |= request.edits
    edits |= noise.members
    if noise.replacements or edits or noise.forward:
        sent, _ = request.rewritten(noise.replacements, edits, mask, noise.forward)
    return Replayed(turn, sent, tuple(noise.events))
