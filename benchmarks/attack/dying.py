"""Runs a `crosswind` command that kills itself around the swap of a policy version, which lasts 0.2 ms.

python -m benchmarks.attack.dying POINT NUMBER ARGUMENTS...
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from itertools import count
from typing import Any
from unittest.mock import patch

from crosswind.gateway.cli import main
from crosswind.policies.embedded.batch import DecodeBatch
from crosswind.policies.embedded.checkpoint import Checkpoint
from crosswind.policies.publishers.embedded import EmbeddedEngine

_IN_FLIGHT_S = 0.005


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _engine_in_a_swap(number: int) -> None:
    """Half-way through: the new weights are in, the prefix cache still holds keys of the old ones."""
    swap, calls = DecodeBatch.swap, count(1)

    def dying(batch: DecodeBatch, checkpoint: Checkpoint) -> None:
        if next(calls) == number:
            batch.checkpoint = checkpoint
            die()
        swap(batch, checkpoint)

    patch.object(DecodeBatch, "swap", dying).start()


def _trainer(before: Callable[[], None], after: Callable[[], None], number: int) -> None:
    publish, calls = EmbeddedEngine.publish, count(1)

    def dying(engine: EmbeddedEngine, *arguments: Any) -> Any:
        chosen = next(calls) == number
        if chosen:
            before()
        published = publish(engine, *arguments)
        if chosen:
            after()
        return published

    patch.object(EmbeddedEngine, "publish", dying).start()


def _die_soon() -> None:
    threading.Timer(_IN_FLIGHT_S, die).start()


POINTS: dict[str, Callable[[int], None]] = {
    "engine in a swap": _engine_in_a_swap,
    "trainer before a swap": lambda number: _trainer(die, lambda: None, number),
    "trainer in a swap": lambda number: _trainer(_die_soon, lambda: None, number),
    "trainer after a swap": lambda number: _trainer(lambda: None, die, number),
}

if __name__ == "__main__":
    POINTS[sys.argv[1]](int(sys.argv[2]))
    sys.argv[1:3] = []
    main()
