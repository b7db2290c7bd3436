"""Statistics of an SQLite store, for reports."""

from __future__ import annotations

import sqlite3

from crosswind.gateway.trajectory.summary import QUANTILES, Summary
from crosswind.injectors.guard.tool_classes import ASSUMED_REPLAYABLE

_TIMES = {
    "queue": "queue_us",
    "first token": "first_token_us",
    "total": "coalesce(delivery.total_us, turn.total_us)",
}


def summary(connection: sqlite3.Connection) -> Summary:
    run = connection.execute
    protocols = run(
        "SELECT protocol, count(*), coalesce(sum(stream), 0) FROM turn GROUP BY 1 ORDER BY 2 DESC"
    )
    fitness = run("SELECT fitness, count(*) FROM turn GROUP BY 1 ORDER BY 2 DESC, 1")
    failures = run(
        "SELECT error_source, error_type, count(*) FROM turn WHERE error_source IS NOT NULL "
        "GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2"
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
        usage=_sum_tokens(connection, ""),
        usage_injected=_sum_tokens(connection, "injected_"),
        rewards={str(name): count for name, count in rewards},
    )


def _read_quantiles(connection: sqlite3.Connection, value: str) -> tuple[int, ...]:
    """The quantiles of a value; empty if no turn has it."""
    of = f"FROM turn LEFT JOIN delivery ON delivery.turn = turn.id WHERE {value} IS NOT NULL"
    (count,) = connection.execute(f"SELECT count(*) {of}").fetchone()
    query = f"SELECT {value} {of} ORDER BY 1 LIMIT 1 OFFSET ?"
    places = [min(count - 1, int(count * quantile)) for quantile in QUANTILES] if count else []
    return tuple(connection.execute(query, (place,)).fetchone()[0] for place in places)


def _sum_tokens(connection: sqlite3.Connection, share: str) -> dict[str, int]:
    prompt, completion = connection.execute(
        f"SELECT coalesce(sum({share}prompt_tokens), 0), coalesce(sum({share}completion_tokens), 0) FROM turn"
    ).fetchone()
    return {"prompt": prompt, "completion": completion}
