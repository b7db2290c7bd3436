from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.testing import ScriptedProvider
from tests.gateway.servers import Running, gateway, upstream


@pytest.fixture
async def app() -> AsyncIterator[ScriptedProvider]:
    """An upstream whose answers say hello."""
    async with upstream() as app:
        yield app


@pytest.fixture
async def running(tmp_path: Path, app: ScriptedProvider) -> AsyncIterator[Running]:
    """A gateway with the usual settings in front of `app`."""
    async with gateway(tmp_path, app) as running:
        yield running


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "crosswind.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(path)
    yield opened
    opened.close()
