"""Groups in a store, for tests: how they are written, and what they are read with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import structs

from crosswind.gateway.trajectory.record import Arm, Completion, Reward, Row, SessionClosed, Turn, VersionSpan
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.trainer.config.settings import configure
from crosswind.trainer.rollouts.groups import Admission, Group, read_group
from tests.trainer.practice import CLOCK, FIRST, session, turn

ADMISSION = Admission({FIRST: 0, "second": 1, "third": 2}, staleness=1, temperature=1.0, vocabulary=500)
DEMO = configure("demo", {})


def fit_turn(session_id: str, index: int = 0, version: str = "third", **fields: Any) -> Turn:
    done = Completion(0, (5, 6), (-0.5, -0.25), "stop", (VersionSpan(version, 0, 2),))
    prompt = [1, 2, 3] if index == 0 else [1, 2, 3, 5, 6, 7]
    return structs.replace(turn(session_id, index, prompt, done), **fields)


def put(
    store: SqliteStore,
    group: str,
    rewards: Sequence[float],
    *,
    noisy: int = 0,
    turns: dict[int, Sequence[Turn]] | None = None,
    labels: dict[str, Any] | None = None,
) -> None:
    """A closed, rewarded group; `turns` replaces the turns of single rollouts."""
    for index, reward in enumerate(rewards):
        arm = Arm.NOISY if index >= len(rewards) - noisy else Arm.CLEAN
        opened = session(group, index, len(rewards), arm=arm, labels=labels or {"purpose": "train"})
        own = (turns or {}).get(index, [fit_turn(opened.id)])
        rows: list[Row] = [
            opened,
            *own,
            Reward(opened.id, next(CLOCK), reward),
            SessionClosed(opened.id, next(CLOCK)),
        ]
        store.write(rows)


def read(store: SqliteStore, group: str = "g") -> Group:
    return read_group(group, store.group(group), ADMISSION)
