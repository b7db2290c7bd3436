"""What a policy was sent, computed again from the record alone: a session's plan and what its agent sent.

The stored ledger is not asked what was shown: a replay that gives the same bytes shows that the noise follows
from the plan, and that the record is whole. What a language model wrote follows from nothing: the events tell
it, and the ledger which calls the client never got.
Whether token ids were asked for, and under which name the model is known upstream, is the configuration's to
say: the replay takes both from the body as sent, if that is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from crosswind.gateway.noise.decide import Circumstances
from crosswind.gateway.noise.pipeline import Noise, add_noise
from crosswind.gateway.noise.tool_view import MOST_ROUNDS
from crosswind.gateway.protocols.codec import codec_named
from crosswind.gateway.protocols.document import decode, encode
from crosswind.gateway.proxy.outgoing import write_body
from crosswind.gateway.recorder.redaction import MASK, Redactor
from crosswind.gateway.sessions.restore import tell
from crosswind.gateway.sessions.session import LiveSession
from crosswind.gateway.sessions.turns import Place
from crosswind.gateway.trajectory.fitness import Fitness
from crosswind.gateway.trajectory.ledger_rows import Shown
from crosswind.gateway.trajectory.record import Event, Session, Turn
from crosswind.injectors.conversation import Site
from crosswind.injectors.engine.plan import Plan
from crosswind.studies.replay.generated_texts import Recorded

_WITHOUT_NOISE = frozenset((Fitness.LEDGER_UNAVAILABLE, Fitness.NOISE_FAILED, Fitness.NOISE_STOPPED))
_nothing_hidden = Redactor("keep")

NOT_RECORDED = "its bodies are not recorded"
MASKED = "a secret was masked in it: what came is not stored"
UNREADABLE = "its body is no request that can be read"


@dataclass(frozen=True, slots=True)
class Replayed:
    """A turn as the replay has it."""

    turn: Turn
    sent: bytes | None
    """The body sent to the policy, recomputed; None where that can't be done."""
    events: tuple[Event, ...] = ()
    """What was injected in this turn, recomputed; `created_us` is the turn's."""
    why_not: str | None = None
    """Why the turn can't be replayed."""

    @property
    def same(self) -> bool:
        """Whether the body is, byte for byte, the one that was stored as sent."""
        return self.turn.sent is not None and self.turn.sent.bytes() == self.sent


def replay(
    session: Session, turns: Sequence[Turn], events: Sequence[Event] = (), shown: Sequence[Shown] = ()
) -> list[Replayed]:
    """Recompute what the policy was sent in each turn, in the order of the turns. Of its events only the
    words that models wrote are taken, and of its ledger, `shown`, only what the policy said and its client
    never got: calls of tools that noise put there. Both were sampled.

    ValueError where the session's plan can't be read.
    """
    live = LiveSession(session, Plan.from_json(session.plan))
    live.mark(noise_stopped=False)
    ordered = sorted(turns, key=lambda turn: (turn.index, turn.attempt))
    words = Recorded(events)
    replayed = []
    for turn in ordered:
        replayed.append(_replayed(live, turn, words or None))
        live.ledger.learn(row for row in shown if row.turn_index == turn.index and _sampled(row, turn))
    return replayed


def _sampled(row: Shown, turn: Turn) -> bool:
    """Whether a row of the ledger says what hung on the policy: calls that were withheld or answered inside,
    and tools that left since they were called again and again.
    """
    return row.site == Site.MODEL_RESPONSE or (
        row.site == Site.TOOL_SCHEMA and len(turn.rounds) > MOST_ROUNDS
    )


def _replayed(live: LiveSession, turn: Turn, words: Recorded | None) -> Replayed:
    """One turn, as `crosswind.gateway.proxy.proxy` put it together."""
    if turn.received is None:
        return Replayed(turn, None, why_not=NOT_RECORDED)
    received = turn.received.bytes()
    codec = codec_named(turn.protocol)
    split = codec.split(received) if codec else None
    if codec is None or split is None:
        return Replayed(turn, None, why_not=UNREADABLE)
    mask = _nothing_hidden.mask
    request = codec.read(split, live.reader(codec), mask)
    tell(request, turn)
    noise = Noise()
    if turn.fitness not in _WITHOUT_NOISE:
        place = Place(turn.index, turn.attempt, turn.parent, turn.branch)
        now = Circumstances(True, not turn.spared, request.stream, turn.created_us, texts=words)
        noise = add_noise(live, codec, request, place, now, _nothing_hidden)
    # The turn is read all the same: what later turns are shown depends on it.
    if MASK in received:
        return Replayed(turn, None, why_not=MASKED)
    stored = None if turn.sent is None else turn.sent.bytes()
    top, renamed = _top(stored), _renamed(received, stored)
    for captured in _captures(turn) if codec.returns_tokens else (False,):
        capture = codec.capture_edits(request, training=live.training, top=top)[0] if captured else {}
        sent, *_ = write_body(request, noise, mask, capture, renamed)
        if sent == stored:
            break
    return Replayed(turn, sent, tuple(noise.events))


def _captures(turn: Turn) -> tuple[bool, ...]:
    """Whether token ids were asked for: both are tried against the body, and without one the answer tells."""
    return (turn.prompt_ids is not None,) if turn.sent is None else (False, True)


def _top(stored: bytes | None) -> int:
    """How many likeliest tokens were captured at each place: the configuration's to say, too."""
    body = None if stored is None else _object(stored)
    if body is None or body.get("return_tokens_as_token_ids") is not True:
        return 0
    asked = body.get("top_logprobs", body.get("logprobs"))
    return asked if isinstance(asked, int) else 0


def _renamed(received: bytes, stored: bytes | None) -> dict[str, bytes | None]:
    """The model's name as the upstream has it, which is the configuration's and not the plan's to say."""
    if stored is None:
        return {}
    asked, sent = (_model(body) for body in (received, stored))
    return {} if sent is None or asked == sent else {"model": encode(sent)}


def _model(body: bytes) -> object:
    document = _object(body)
    return None if document is None else document.get("model")


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        document = decode(body)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None
