from __future__ import annotations

from pathlib import Path

import pytest

from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.trainer.learning import model
from tests.trainer.practice import play


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory, first_policy: Path) -> Path:
    """A store with five steps' groups, sampled by the first policy, of several lengths."""
    path = tmp_path_factory.mktemp("played") / "store.db"
    store, policy = SqliteStore(path), model.load(first_policy)
    for index in range(10):
        size = {"turns": 1 + index % 3, "tokens": 3 + index % 4, "noisy": 2}
        play(store, policy, f"g{index}", 4, reward=lambda done: done[-1].token_ids[0] % 5 / 4, **size)
    store.close()
    return path
