"""The engine's one torch thread: it owns the batch, and everything that touches weights goes through its
inbox.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TypeVar

import torch

from crosswind.policies.embedded.batch import DecodeBatch
from crosswind.policies.embedded.checkpoint import Checkpoint
from crosswind.policies.embedded.sequence import Sequence

T = TypeVar("T")

_SCORED_TOGETHER = 8
"""Sequences scored between two decode steps, so that scoring holds decoding up only briefly."""


class EngineFailure(Exception):
    """A step failed inside the engine; what was in flight is lost."""


@dataclass(frozen=True, slots=True)
class Swapped:
    """How long a swap kept decoding waiting, and what was in flight."""

    swap_ms: float
    in_flight: int


Progress = Callable[[list[Sequence]], None]
"""Called on the engine's thread after a step with the sequences that got a token and stream or finished."""


class Worker:
    """Runs a batch on a thread of its own. Public methods may be called from any thread."""

    def __init__(
        self, batch: DecodeBatch, progress: Progress, failed: Callable[[list[Sequence], Exception], None]
    ) -> None:
        self.version = batch.checkpoint.version
        self.shape = batch.checkpoint.shape
        self.in_flight = 0
        self.swaps = 0
        self._batch = batch
        self._progress = progress
        self._failed = failed
        self._inbox: SimpleQueue[Sequence | Callable[[], None] | None] = SimpleQueue()
        """Sequences to sample, other work, and None at the end."""
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread after the step in progress."""
        self._inbox.put(None)
        self._thread.join()

    def submit(self, sequence: Sequence) -> None:
        self._inbox.put(sequence)

    def swap(self, checkpoint: Checkpoint) -> Future[Swapped]:
        """Serve this checkpoint, which was read and checked, from the next decode step on."""
        return self._do(lambda: self._swap(checkpoint))

    def score(self, prompts: list[list[int]], completions: list[list[int]]) -> Future[list[list[float]]]:
        return self._do(lambda: self._score(prompts, completions))

    def _do(self, work: Callable[[], T]) -> Future[T]:
        """Have the engine's thread do this between two steps."""
        done: Future[T] = Future()

        def carry_out() -> None:
            try:
                done.set_result(work())
            except Exception as error:
                done.set_exception(_describe_failure(error))

        self._inbox.put(carry_out)
        return done

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def _run(self) -> None:
        torch.set_num_threads(1)
        while self._take():
            try:
                moved = self._batch.step()
            except Exception as error:
                self._failed(self._batch.clear(), _describe_failure(error))
                moved = []
            self.in_flight = len(self._batch.running) + len(self._batch.waiting)
            reported = [sequence for sequence in moved if sequence.streams or sequence.finish]
            if reported:
                self._progress(reported)

    def _take(self) -> bool:
        """Empty the inbox, waiting for something to do if nothing is in flight. False: stop."""
        idle = not (self._batch.running or self._batch.waiting)
        while True:
            try:
                item = self._inbox.get(block=idle)
            except Empty:
                return True
            if item is None:
                return False
            if isinstance(item, Sequence):
                self._batch.waiting.append(item)
                idle = False
            else:
                item()

    def _swap(self, checkpoint: Checkpoint) -> Swapped:
        started = time.perf_counter()
        in_flight = len(self._batch.running) + len(self._batch.waiting)
        self._batch.swap(checkpoint)
        self.version = checkpoint.version
        self.swaps += 1
        return Swapped((time.perf_counter() - started) * 1000, in_flight)

    def _score(self, prompts: list[list[int]], completions: list[list[int]]) -> list[list[float]]:
        scored: list[list[float]] = []
        for start in range(0, len(prompts), _SCORED_TOGETHER):
            end = start + _SCORED_TOGETHER
            scored += self._batch.score(prompts[start:end], completions[start:end])
        return scored


def _describe_failure(error: Exception) -> EngineFailure:
    return EngineFailure(f"{type(error).__name__}: {error}")
