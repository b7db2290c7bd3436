"""What a poll of the trainer costs as a store grows: CPU time without news, and with the groups of a step.

python -m benchmarks.group_poll --sessions 1000000
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from contextlib import closing
from pathlib import Path

from crosswind.gateway.trajectory.record import Reward, Row, Session, SessionClosed
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.trainer.rollouts.cursor import GroupCursor

SIZE = 32


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=1_000_000)
    sessions: int = parser.parse_args().sessions
    with tempfile.TemporaryDirectory() as folder, closing(SqliteStore(Path(folder) / "store.db")) as store:
        for start in range(0, sessions // SIZE, 100):
            numbers = range(start, min(start + 100, sessions // SIZE))
            store.write([row for number in numbers for row in _make_group(f"g{number}")])
        cursor = GroupCursor()
        first = _measure(cursor, store)
        for group in cursor.find_ready(0):
            cursor.deal_with(group)
        idle = sorted(_measure(cursor, store) for _ in range(200))[100]
        busy = []
        for step in range(20):
            store.write([row for group in range(8) for row in _make_group(f"new-{step}-{group}")])
            busy.append(_measure(cursor, store))
        found = {"first": first, "idle": idle, "with_8_groups": sorted(busy)[10]}
    print(
        json.dumps({"sessions": sessions, "cpu_ms": {name: round(1000 * s, 3) for name, s in found.items()}})
    )


def _make_group(name: str) -> list[Row]:
    rows: list[Row] = []
    for index in range(SIZE):
        made = f"{name}-{index}"
        rows.append(Session(made, 1, {}, group_id=name, group_size=SIZE, rollout_index=index))
        rows += [Reward(made, 2, 1.0), SessionClosed(made, 3)]
    return rows


def _measure(cursor: GroupCursor, store: SqliteStore) -> float:
    """CPU seconds of a poll."""
    begun = time.thread_time()
    cursor.poll(store)
    cursor.find_ready(0)
    return time.thread_time() - begun


if __name__ == "__main__":
    main()
