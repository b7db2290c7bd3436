"""The contract of a trajectory store: each of these tests runs over every backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.gateway.trajectory.store import Store

BACKENDS: dict[str, Callable[[Path], Store]] = {"sqlite": lambda folder: SqliteStore(folder / "store.db")}
"""An empty store of each kind."""


@pytest.fixture(params=BACKENDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    with closing(BACKENDS[request.param](tmp_path)) as opened:
        yield opened
