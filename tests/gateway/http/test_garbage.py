"""The cycle collector looks at young objects once, and at all seldom. What lies in cycles still goes."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Iterator

import pytest

from crosswind.gateway.http import garbage


class Node:
    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    thresholds, callbacks = gc.get_threshold(), list(gc.callbacks)
    yield
    gc.callbacks[:] = callbacks
    gc.unfreeze()
    gc.set_threshold(*thresholds)


async def test_a_cycle_that_outlives_a_pass_goes_with_a_later_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage, "_PASSES", 3)
    garbage.tune_garbage_collection()
    node = Node()
    gone = weakref.ref(node)
    gc.collect(0)
    del node
    gc.collect(0)
    assert gone() is not None
    gc.collect(0)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert gone() is None


async def test_what_outlives_a_pass_is_not_looked_at_again() -> None:
    garbage.tune_garbage_collection()
    kept = [Node() for _ in range(100)]
    gc.collect(0)
    assert not any(one is kept[0] for one in gc.get_objects())


async def test_young_cycles_go_at_once() -> None:
    garbage.tune_garbage_collection()
    gone = weakref.ref(Node())
    gc.collect(0)
    assert gone() is None
