"""Recompute what a policy was sent from the record alone: a session's plan, and what its agent sent.

The stored ledger is not consulted for what was shown: if the replay gives the same bytes, the noise follows
from the plan, and the record is complete. The exception are decisions of other versions (`versions`): the
ledger says what was shown, and the rest is recomputed. Where this version judges otherwise, the recorded
draws are applied. Two things follow from nothing: model-written texts, which the
events hold, and calls that the client never got, which the ledger holds. Whether token ids were requested,
and the model's name upstream, are up to the configuration: both are read from the body as sent, if it is
stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from crosswind.gateway.noise.decide import Circumstances
from crosswind.gateway.noise.noise_type import choose_type
from crosswind.gateway.noise.pipeline import Noise, add_noise
from crosswind.gateway.noise.tool_view import MOST_ROUNDS
from crosswind.gateway.protocols.codec import codec_named
from crosswind.gateway.protocols.json_values import decode, encode
from crosswind.gateway.proxy.request_builder import write_body
from crosswind.gateway.recorder.redaction import MASK, Redactor
from crosswind.gateway.sessions.restore import apply_answer
from crosswind.gateway.sessions.session import LiveSession
from crosswind.gateway.sessions.turns import TurnPosition
from crosswind.gateway.trajectory.fitness import Fitness
from crosswind.gateway.trajectory.ledger_rows import Shown
from crosswind.gateway.trajectory.record import Event, Session, Turn
from crosswind.injectors.conversation import Site
from crosswind.injectors.engine.plan import Plan
from crosswind.injectors.wording import (
    MODEL,
    WORDING,
    Prompt,
    StoredDraw,
    StoredDraws,
    Texts,
    WrittenText,
)
from crosswind.studies.replay.versions import NotRecomputed, Versions

_WITHOUT_NOISE = frozenset((Fitness.LEDGER_UNAVAILABLE, Fitness.NOISE_FAILED, Fitness.NOISE_STOPPED))
_REDACTOR = Redactor("keep")

NOT_RECORDED = "its bodies are not recorded"
MASKED = "a secret was masked in it: what came is not stored"
UNREADABLE = "its body is no request that can be read"


class RecordedTexts:
    """The `Texts` of a recorded session, from its events.

    Each draw says whether its text came from the model, so that one that came too late is not used now.
    """

    def __init__(self, events: Iterable[Event]) -> None:
        self._by_slot: dict[str, Mapping[str, Any]] = {
            event.slot: event.draw[WORDING] for event in events if WORDING in event.draw
        }

    def __bool__(self) -> bool:
        return bool(self._by_slot)

    def get(self, slot: str, prompt: Prompt) -> WrittenText | None:
        wording = self._by_slot.get(slot)
        if wording is None:
            return None
        if wording["form"] == MODEL:
            return WrittenText(wording["text"], wording["model"])
        return WrittenText(None, why=wording["why"])


class RecordedDraws(StoredDraws):
    """All that was drawn in a recorded session, and what of it was withheld."""

    def __init__(self, events: Iterable[Event]) -> None:
        super().__init__(
            {
                (event.slot, event.anchor): StoredDraw(
                    event.draw, None if event.after is not None else _read_reason(event)
                )
                for event in events
            }
        )


def _read_reason(event: Event) -> str:
    # Before 0.3 notes began with "Not injected".
    return event.note.removeprefix("Not injected: ").removeprefix("Withheld: ").removesuffix(".")


@dataclass(frozen=True, slots=True)
class ReplayedTurn:
    """A turn with the recomputed body that was sent to the policy."""

    turn: Turn
    sent: bytes | None
    """None where it can't be recomputed; `why_not` says why."""
    events: tuple[Event, ...] = ()
    """The turn's injections, recomputed; `created_us` is the turn's."""
    why_not: str | None = None
    by_recorded_draws: bool = False
    """Whether this version would draw otherwise, and the recorded draws were applied."""
    not_recomputed: tuple[NotRecomputed, ...] = ()
    """The turn's decisions that were taken from the record."""

    @property
    def same(self) -> bool:
        """Whether the body equals the stored one, byte for byte."""
        return self.turn.sent is not None and self.turn.sent.bytes() == self.sent


def replay(
    session: Session, turns: Sequence[Turn], events: Sequence[Event] = (), shown: Sequence[Shown] = ()
) -> list[ReplayedTurn]:
    """Recompute the body sent in each turn, in the order of the turns.

    Of the events only model-written texts are used, and of the ledger's rows, `shown`, only calls of tools
    that noise added, and what other versions decided. Where this doesn't give what was sent, the session was
    recorded by a version that judged otherwise: then the recorded draws are applied. ValueError where the
    session's plan can't be read.
    """
    versions = Versions(Plan.from_json(session.plan))
    replayed = _replay_turns(session, versions, turns, shown, RecordedTexts(events) or None)
    by_turn: dict[tuple[int, int], list[Event]] = {}
    for event in events:
        by_turn.setdefault((event.turn_index, event.attempt), []).append(event)
    told = [by_turn.get((one.turn.index, one.turn.attempt), ()) for one in replayed]
    replayed = [
        replace(one, not_recomputed=tuple(versions.list_decisions(of_turn)))
        for one, of_turn in zip(replayed, told, strict=True)
    ]
    if all(turn.same or turn.why_not is not None for turn in replayed):
        return replayed
    again = _replay_turns(session, versions, turns, shown, RecordedDraws(events))
    return [
        replace(second, by_recorded_draws=True, not_recomputed=first.not_recomputed)
        if second.same and not first.same
        else first
        for first, second in zip(replayed, again, strict=True)
    ]


def _replay_turns(
    session: Session, versions: Versions, turns: Sequence[Turn], shown: Sequence[Shown], texts: Texts | None
) -> list[ReplayedTurn]:
    live = LiveSession(session, versions.recomputable)
    live.mark(noise_stopped=False)
    replayed = []
    for turn in sorted(turns, key=lambda turn: (turn.index, turn.attempt)):
        rows = [row for row in shown if row.turn_index == turn.index]
        live.ledger.learn(versions.pick_rows(rows, live.ledger))
        replayed.append(replay_turn(live, turn, texts))
        live.ledger.learn(row for row in rows if is_sampled(row, turn))
    return replayed


def is_sampled(row: Shown, turn: Turn) -> bool:
    """Whether a row of the ledger depends on what the policy sampled: calls that were withheld or answered
    inside, and tools that left because they were called again and again.
    """
    left = len(turn.rounds) > MOST_ROUNDS
    return row.site == Site.MODEL_RESPONSE or (left and row.site == Site.TOOL_SCHEMA)


def replay_turn(live: LiveSession, turn: Turn, texts: Texts | None) -> ReplayedTurn:
    """Recompute the body sent in a session's next turn."""
    if turn.received is None:
        return ReplayedTurn(turn, None, why_not=NOT_RECORDED)
    received = turn.received.bytes()
    codec = codec_named(turn.protocol)
    split = codec.split(received) if codec else None
    if codec is None or split is None:
        return ReplayedTurn(turn, None, why_not=UNREADABLE)
    request = codec.read(split, live.reader(codec), _REDACTOR.mask)
    apply_answer(request, turn)
    choose_type(live, codec, request)
    noise = Noise()
    if turn.fitness not in _WITHOUT_NOISE:
        place = TurnPosition(turn.index, turn.attempt, turn.parent, turn.branch)
        now = Circumstances(True, not turn.spared, request.stream, turn.created_us, texts=texts)
        noise = add_noise(live, codec, request, place, now, _REDACTOR)
    # A masked turn is read all the same: what later turns are shown depends on it.
    if MASK in received:
        return ReplayedTurn(turn, None, why_not=MASKED)
    stored = None if turn.sent is None else turn.sent.bytes()
    before, after = _object(received), _object(stored)
    model = after.get("model")
    renamed = {"model": encode(model)} if model not in (None, before.get("model")) else {}
    # The record doesn't say whether token ids were requested: both are tried against the stored body. Without
    # one, the answer tells.
    tried = (False, True) if stored is not None else (turn.prompt_ids is not None,)
    top = _top(after)
    for captured in tried if codec.returns_tokens else (False,):
        capture = codec.capture_edits(request, training=live.training, top=top)[0] if captured else {}
        sent, *_ = write_body(request, noise, _REDACTOR.mask, capture, renamed)
        if sent == stored:
            break
    return ReplayedTurn(turn, sent, tuple(noise.events))


def _top(sent: Mapping[str, Any]) -> int:
    """How many likeliest tokens were requested at each place."""
    if sent.get("return_tokens_as_token_ids") is not True:
        return 0
    top = sent.get("top_logprobs", sent.get("logprobs"))
    return top if isinstance(top, int) else 0


def _object(body: bytes | None) -> dict[str, Any]:
    try:
        document = decode(body or b"{}")
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
