"""What a swap costs: how long decoding stands still, and how many tokens fewer are sampled."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from threading import Event, Thread

from benchmarks.engine.load import Generator, Round, Shape
from benchmarks.engine.stack import Server
from crosswind.policies.engine import PublishedVersion
from crosswind.policies.publishers.registry import connect
from crosswind.policies.versions.version import PolicyVersion

PAUSED = Shape(connections=16, streams=1, tokens=700)
STEADY = Shape(connections=16, streams=2, tokens=400)
EVERY_S = 1.0


def measure_pauses(
    generator: Generator, engine: Server, between: Sequence[PolicyVersion], swaps: int
) -> list[PublishedVersion]:
    """Swaps at 16 streams, one after the other; those count at which all streams were in flight."""
    done: list[PublishedVersion] = []
    while len(done) < swaps:
        with _swap_beside(engine, between, 0.25) as published:
            generator.run(PAUSED, engine)
        done += [one for one in published if one.in_flight == PAUSED.connections]
    return done[:swaps]


def measure_steady(generator: Generator, engine: Server) -> Round:
    """Streams without a swap."""
    return generator.run(STEADY, engine)


def measure_swapping(
    generator: Generator, engine: Server, between: Sequence[PolicyVersion]
) -> tuple[Round, list[PublishedVersion]]:
    """The same streams with a swap each second."""
    with _swap_beside(engine, between, EVERY_S) as published:
        measured = generator.run(STEADY, engine)
    return measured, published


@contextmanager
def _swap_beside(
    engine: Server, between: Sequence[PolicyVersion], every_s: float
) -> Iterator[list[PublishedVersion]]:
    """Swap to the next version every so many seconds, beside what is done within."""
    stop, published = Event(), list[PublishedVersion]()

    def swap() -> None:
        with connect(engine.url) as client:
            due = time.monotonic() + every_s
            for version in cycle(between):
                if stop.wait(max(0.0, due - time.monotonic())):
                    return
                published.append(client.publish(version))
                due += every_s

    thread = Thread(target=swap)
    thread.start()
    try:
        yield published
    finally:
        stop.set()
        thread.join()
