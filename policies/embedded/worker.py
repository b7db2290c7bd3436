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

import torch

from crosswind.policies.embedded.batch import DecodeBatch
from crosswind.policies.embedded.checkpoint import Checkpoint
from crosswind.policies.embedded.sequence import Sequence

_SCORED_TOGETHER = 8
"""Sequences scored between two decode steps, so that scoring holds decoding up only briefly."""


class EngineFailure(Exception):
    """A step failed inside the engine; what was in flight is lost."""


@dataclass(frozen=True, slots=True)
class Swapped:
    """How long a swap kept decoding waiting, and what was in flight."""

    swap_ms: float
    in_flight: int


@dataclass(slots=True)
class _Score:
    prompts: list[list[int]]
    completions: list[list[int]]
    temperature: float
    done: Future[list[list[float]]]


@dataclass(slots=True)
class _Swap:
    checkpoint: Checkpoint
    done: Future[Swapped]


class _Stop:
    pass


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
        self._inbox: SimpleQueue[Sequence | _Score | _Swap | _Stop] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread after the step in progress."""
        self._inbox.put(_Stop())
        self._thread.join()

    def submit(self, sequence: Sequence) -> None:
        self._inbox.put(sequence)

    def swap(self, checkpoint: Checkpoint) -> Future[Swapped]:
        """Serve this checkpoint, which was read and checked, from the next decode step on."""
        done: Future[Swapped] = Future()
        self._inbox.put(_Swap(checkpoint, done))
        return done

    def score(
        self, prompts: list[list[int]], completions: list[list[int]], temperature: float
    ) -> Future[list[list[float]]]:
        done: Future[list[list[float]]] = Future()
        self._inbox.put(_Score(prompts, completions, temperature, done))
        return done

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def _run(self) -> None:
        torch.set_num_threads(1)
        while self._take():
            try:
                moved = self._batch.step()
            except Exception as error:
                self._failed(self._batch.clear(), EngineFailure(f"{type(error).__name__}: {error}"))
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
            if isinstance(item, _Stop):
                return False
            if isinstance(item, Sequence):
                self._batch.waiting.append(item)
                idle = False
            elif isinstance(item, _Swap):
                self._carry_out_swap(item)
            else:
                self._carry_out_score(item)

    def _carry_out_swap(self, item: _Swap) -> None:
        started = time.perf_counter()
        in_flight = len(self._batch.running) + len(self._batch.waiting)
        self._batch.swap(item.checkpoint)
        self.version = item.checkpoint.version
        self.swaps += 1
        item.done.set_result(Swapped((time.perf_counter() - started) * 1000, in_flight))

    def _carry_out_score(self, item: _Score) -> None:
        scored: list[list[float]] = []
        try:
            for start in range(0, len(item.prompts), _SCORED_TOGETHER):
                end = start + _SCORED_TOGETHER
                scored += self._batch.score(
                    item.prompts[start:end], item.completions[start:end], item.temperature
                )
        except Exception as error:
            item.done.set_exception(EngineFailure(f"{type(error).__name__}: {error}"))
        else:
            item.done.set_result(scored)
