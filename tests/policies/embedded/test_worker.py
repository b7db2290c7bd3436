"""The engine's thread: a failed step is reported to those it concerns, and the next request is served."""

from __future__ import annotations

from collections.abc import Iterator
from queue import SimpleQueue

import pytest

from crosswind.policies.embedded.batch import BatchLimits, DecodeBatch
from crosswind.policies.embedded.checkpoint import read_checkpoint
from crosswind.policies.embedded.sequence import Sequence
from crosswind.policies.embedded.worker import EngineFailure, Worker
from crosswind.policies.versions.version import Registry

News = SimpleQueue[tuple[list[Sequence], Exception | None]]


@pytest.fixture
def news() -> News:
    return SimpleQueue()


@pytest.fixture
def worker(registry: Registry, news: News) -> Iterator[Worker]:
    batch = DecodeBatch(read_checkpoint(registry.get("random-0").path), BatchLimits())
    made = Worker(batch, lambda done: news.put((done, None)), lambda lost, error: news.put((lost, error)))
    made.start()
    yield made
    made.stop()


def _sequence(*prompt: int) -> Sequence:
    return Sequence(list(prompt), 4, 1.0, 1, frozenset())


def test_a_failing_step_loses_what_was_in_flight_and_no_more(worker: Worker, news: News) -> None:
    broken = _sequence(10**6)
    worker.submit(broken)
    lost, error = news.get(timeout=60)
    assert lost == [broken] and isinstance(error, EngineFailure)
    good = _sequence(1, 2, 3)
    worker.submit(good)
    assert news.get(timeout=60) == ([good], None)
    assert len(good.tokens) == 4 and worker.in_flight == 0


def test_a_failing_score_is_the_askers(worker: Worker) -> None:
    with pytest.raises(EngineFailure, match="IndexError"):
        worker.score([[10**6]], [[1]]).result(timeout=60)
    scored = worker.score([[1, 2], [3]] * 9, [[4, 5, 6], [7]] * 9).result(timeout=60)
    assert [len(one) for one in scored] == [3, 1] * 9
    assert scored[0] == pytest.approx(scored[16], abs=1e-5)
