from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.policies.embedded.batch import BatchLimits
from crosswind.policies.embedded.server import make_server
from crosswind.policies.publishers.embedded import EmbeddedEngine
from crosswind.trainer.learning import model
from tests.serving import serve_in_thread
from tests.trainer.practice import write_tiny_policy


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def first_policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a random policy of version `first`. Not to be changed."""
    return write_tiny_policy(tmp_path_factory.mktemp("policies") / "first")


@pytest.fixture
def policy(first_policy: Path) -> model.Policy:
    return model.load(first_policy)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "store.db")
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def engine_url(first_policy: Path) -> Iterator[str]:
    """The embedded engine on a real port, serving `first_policy` until a test publishes something else."""
    with serving(first_policy, 0) as url:
        yield url


@contextmanager
def serving(policy: Path, port: int) -> Iterator[str]:
    """The embedded engine on this port, or on a free one for 0; gives its URL."""
    with serve_in_thread(make_server(policy, seed=0, limits=BatchLimits(rows=8)), port) as url:
        yield url


@pytest.fixture
def engine(engine_url: str) -> Iterator[EmbeddedEngine]:
    with EmbeddedEngine(engine_url) as client:
        yield client
