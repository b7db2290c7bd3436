"""What an attempt's record says: whether requests came, and whether somebody else than the agent failed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from crosswind.figures.attempts import Void
from crosswind.gateway.trajectory.fitness import Fitness, Source
from crosswind.gateway.trajectory.record import Event, Turn
from crosswind.gateway.trajectory.store import Store
from crosswind.injectors.conversation import Site
from crosswind.studies.chaos.processes import Ended

_OWN_FAULT = (400, 404, 413, 422)
"""Statuses by which a provider refuses what the agent asked for."""
_OURS = (Fitness.LEDGER_UNAVAILABLE, Fitness.NOISE_FAILED)


@dataclass(frozen=True, slots=True)
class Examined:
    """What an attempt's record says."""

    requests: int = 0
    models: tuple[str, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0
    void: Void | None = None
    note: str = ""
    """Why it is void."""


def examine(store: Store, session: str, ended: Ended) -> Examined:
    """Read an attempt's record."""
    turns = store.turns(session)
    found = store.session(session)
    void, note = _find_failure(turns)
    if void is None and found is not None and found.noise_stopped:
        void, note = Void.NOISE_STOPPED, "noise was switched off"
    if void is None and ended.timed_out:
        void, note = _find_slow_upstream(turns, store.events(session), ended.seconds)
    return Examined(
        len(turns),
        tuple(dict.fromkeys(turn.model for turn in turns if turn.model)),
        sum(_count(turn, "prompt_tokens", "input_tokens") for turn in turns),
        sum(_count(turn, "completion_tokens", "output_tokens") for turn in turns),
        void,
        note,
    )


def _count(turn: Turn, *names: str) -> int:
    return next((count for name in names if isinstance(count := turn.usage.get(name), int)), 0)


def _find_failure(turns: Iterable[Turn]) -> tuple[Void | None, str]:
    """The first failure of the upstream's or of ours that no later attempt at the same turn got over."""
    last = {turn.index: turn for turn in turns}
    for turn in last.values():
        source = None if turn.error is None else turn.error.source
        said = "" if turn.error is None else f": {turn.error.kind}"
        if source is Source.OURS or turn.fitness in _OURS:
            return Void.GATEWAY, f"turn {turn.index}: the gateway failed{said or f': {turn.fitness}'}"
        broken = source is Source.UPSTREAM or turn.fitness is Fitness.UPSTREAM_ERROR
        if broken and turn.upstream_status not in _OWN_FAULT:
            status = f" with status {turn.upstream_status}" if turn.upstream_status else ""
            return Void.UPSTREAM, f"turn {turn.index}: the upstream failed{status}{said}"
    return None, ""


def _find_slow_upstream(
    turns: Sequence[Turn], events: Iterable[Event], seconds: float
) -> tuple[Void | None, str]:
    """Whether an agent that was out of time was waiting, for half of it or more, for an answer that the
    upstream owed and no noise held back."""
    struck = {
        event.turn_index
        for event in events
        if event.after is not None and event.site in (Site.TRANSPORT, Site.MODEL_RESPONSE)
    }
    for turn in turns:
        waited = (turn.total_us or 0) / 1e6
        unanswered = turn.fitness is Fitness.CLIENT_ERROR and turn.index not in struck
        if unanswered and waited > seconds / 2:
            return Void.TIMEOUT, f"turn {turn.index}: the upstream had not answered for {waited:.0f} s"
    return None, ""
