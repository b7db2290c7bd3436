from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from crosswind.gateway.trajectory.sqlite.store import SqliteStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "crosswind.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(path)
    yield opened
    opened.close()
