"""What a poll of the trainer costs as a store grows: CPU time without news, and with the groups of a step.

python -m benchmarks.group_poll --sessions 1000000
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path

from crosswind.gateway.trajectory.record import Reward, Row, Session, SessionClosed
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.trainer.rollouts.cursor import GroupCursor

SIZE = 32
_FILL = f"""
WITH RECURSIVE place(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM place WHERE i + 1 < ?)
INSERT INTO session (number, id, created_us, arrival, plan_json, labels_json, reward_components_json, arm,
  group_id, group_size, rollout_index, status, closed_us, closed_arrival, reward_state, reward, rewarded_us,
  rewarded_arrival)
SELECT i + 1, 's' || i, 1, 3 * i + 1, '{{}}', '{{}}', '{{}}', 'clean',
  'g' || (i / {SIZE}), {SIZE}, i % {SIZE}, 'closed', 1, 3 * i + 2, 'given', 1.0, 1, 3 * i + 3 FROM place"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=1_000_000)
    sessions: int = parser.parse_args().sessions
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        SqliteStore(path).close()
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(_FILL, (sessions,))
        with closing(SqliteStore(path)) as store:
            found = measure(store)
    print(
        json.dumps({"sessions": sessions, "cpu_ms": {name: round(1000 * s, 3) for name, s in found.items()}})
    )


def measure(store: SqliteStore) -> dict[str, float]:
    """CPU seconds of the first poll, and medians of those without news and with eight new groups."""
    cursor = GroupCursor()
    first = _poll(cursor, store)
    for group in cursor.find_ready(0):
        cursor.deal_with(group)
    idle = sorted(_poll(cursor, store) for _ in range(200))[100]
    busy = []
    for step in range(20):
        store.write([row for number in range(8) for row in _make_group(f"new-{step}-{number}")])
        busy.append(_poll(cursor, store))
        for group in cursor.find_ready(0):
            cursor.deal_with(group)
    return {"first": first, "idle": idle, "with_8_groups": sorted(busy)[10]}


def _make_group(name: str) -> list[Row]:
    rows: list[Row] = []
    for index in range(SIZE):
        made = f"{name}-{index}"
        rows.append(Session(made, 1, {}, group_id=name, group_size=SIZE, rollout_index=index))
        rows += [Reward(made, 2, 1.0), SessionClosed(made, 3)]
    return rows


def _poll(cursor: GroupCursor, store: SqliteStore) -> float:
    begun = time.thread_time()
    cursor.poll(store)
    cursor.find_ready(0)
    return time.thread_time() - begun


if __name__ == "__main__":
    main()
