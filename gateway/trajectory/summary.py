"""Statistics of a store: traffic, noise, failures by source, latencies and tokens."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from crosswind.injectors.guard.tool_classes import ASSUMED_REPLAYABLE

QUANTILES = (0.5, 0.9, 0.99)
_TIMES = {
    "queue": "queue_us",
    "first token": "first_token_us",
    "total": "coalesce(delivery.total_us, turn.total_us)",
}
_TOKENS = {"prompt": ("prompt_tokens", "input_tokens"), "completion": ("completion_tokens", "output_tokens")}


@dataclass(frozen=True, slots=True)
class Summary:
    """Statistics of a store. Counts are turns unless noted otherwise."""

    protocols: Mapping[str, tuple[int, int]]
    """Turns per protocol, and how many of them were streamed."""
    fitness: Mapping[str, int]
    """Turns per fitness."""
    failures: Mapping[tuple[str, str], int]
    """Failures by source (ours, upstream, tool, client, injected) and kind."""
    noise: Mapping[str, tuple[int, int]]
    """Events per operator: injected, and withheld."""
    without_noise: Mapping[str, int]
    """Turns to which no operator was applied, by the reason."""
    destroyed_writes: Mapping[str, int]
    """Results destroyed by tool, whose calls were only assumed to be repeatable."""
    times_us: Mapping[str, tuple[int, ...]]
    """The quantiles of `QUANTILES`, in microseconds."""
    usage: Mapping[str, int]
    """Prompt and completion tokens as the upstream counted them."""
    usage_injected: Mapping[str, int]
    """The share of those tokens that noise added."""
    rewards: Mapping[str, int]
    """Sessions by the state of their reward."""


def compute_summary(connection: sqlite3.Connection) -> Summary:
    run = connection.execute
    protocols = run(
        "SELECT protocol, count(*), coalesce(sum(stream), 0) FROM turn GROUP BY 1 ORDER BY 2 DESC"
    )
    fitness = run("SELECT fitness, count(*) FROM turn GROUP BY 1 ORDER BY 2 DESC, 1")
    failures = run(
        "SELECT json_extract(error_json, '$.source'), json_extract(error_json, '$.type'), count(*) FROM turn "
        "WHERE error_json IS NOT NULL GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2"
    )
    noise = run(
        "SELECT operator, sum(after IS NOT NULL), sum(after IS NULL) FROM event WHERE slot <> '' "
        "GROUP BY 1 ORDER BY 2 DESC, 1"
    )
    without = run(
        "SELECT note, count(*) FROM event WHERE slot = '' AND tool IS NULL GROUP BY 1 ORDER BY 2 DESC, 1"
    )
    writes = run(
        "SELECT tool, count(*) FROM event WHERE after IS NOT NULL AND instr(note, ?) "
        "GROUP BY 1 ORDER BY 2 DESC, 1",
        (ASSUMED_REPLAYABLE,),
    )
    rewards = run("SELECT reward_state, count(*) FROM session GROUP BY 1 ORDER BY 2 DESC, 1")
    return Summary(
        protocols={str(name): (turns, int(streamed)) for name, turns, streamed in protocols},
        fitness={str(name): count for name, count in fitness},
        failures={(str(source), str(kind)): count for source, kind, count in failures},
        noise={str(name): (injected, withheld) for name, injected, withheld in noise},
        without_noise={str(note): count for note, count in without},
        destroyed_writes={str(name): count for name, count in writes},
        times_us={
            name: found for name, value in _TIMES.items() if (found := _read_quantiles(connection, value))
        },
        usage=_sum_tokens(connection, "usage_json"),
        usage_injected=_sum_tokens(connection, "usage_injected_json"),
        rewards={str(name): count for name, count in rewards},
    )


def _read_quantiles(connection: sqlite3.Connection, value: str) -> tuple[int, ...]:
    """The quantiles of a value; empty if no turn has it."""
    of = f"FROM turn LEFT JOIN delivery USING (session_id, turn_index, attempt) WHERE {value} IS NOT NULL"
    (count,) = connection.execute(f"SELECT count(*) {of}").fetchone()
    query = f"SELECT {value} {of} ORDER BY 1 LIMIT 1 OFFSET ?"
    places = [min(count - 1, int(count * quantile)) for quantile in QUANTILES] if count else []
    return tuple(connection.execute(query, (place,)).fetchone()[0] for place in places)


def _sum_tokens(connection: sqlite3.Connection, column: str) -> dict[str, int]:
    found = {}
    for name, members in _TOKENS.items():
        either = ", ".join(f"json_extract({column}, '$.{member}')" for member in members)
        (found[name],) = connection.execute(
            f"SELECT coalesce(sum(coalesce({either})), 0) FROM turn"
        ).fetchone()
    return found
