"""Failures of a rollout's turns: whose they were.

A rollout that the infrastructure failed says nothing about the policy: its reward is no zero, it is void. One
that injected noise failed is what training under noise is about: it trains, but for the answers that noise
destroyed.
"""

from __future__ import annotations

from collections.abc import Iterable

from crosswind.gateway.trajectory.fitness import Fitness
from crosswind.gateway.trajectory.record import Event, Turn
from crosswind.injectors.conversation import Site

_INFRASTRUCTURE = frozenset(
    {
        Fitness.UPSTREAM_ERROR,
        Fitness.FINISH_NOT_SEEN,
        Fitness.ABORTED,
        Fitness.OURS_ERROR,
        Fitness.TOOL_ERROR,
        Fitness.CLIENT_ERROR,
        Fitness.LEDGER_UNAVAILABLE,
        Fitness.NOISE_FAILED,
    }
)
"""The engine's, the gateway's, the tools' and the client's failures."""
_REFUSED_REQUEST = (400, 413, 422)
"""Statuses by which an engine refuses the conversation itself, for example one that fills its context."""


def leave_out_destroyed(turns: Iterable[Turn], events: Iterable[Event]) -> tuple[Turn, ...]:
    """The turns without those whose answer noise destroyed, or held back until the client gave up."""
    struck = {
        (event.turn_index, event.attempt)
        for event in events
        if event.after is not None and event.site in (Site.TRANSPORT, Site.MODEL_RESPONSE)
    }
    return tuple(
        turn
        for turn in turns
        if turn.fitness != Fitness.INJECTED_ERROR
        and (turn.fitness != Fitness.CLIENT_ERROR or (turn.index, turn.attempt) not in struck)
    )


def find_infrastructure_failure(turns: Iterable[Turn]) -> str | None:
    """The first failure of the infrastructure; None where there is none. `turns` has the last attempt at each
    turn: what a client got over by asking again is no failure.
    """
    for turn in turns:
        if turn.fitness in _INFRASTRUCTURE and turn.upstream_status not in _REFUSED_REQUEST:
            # As plain text: reasons are keys of figures, and orjson writes no enums as keys.
            return str(turn.fitness)
    return None
