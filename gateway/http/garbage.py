"""Garbage collection: a small share of each request, without pauses that grow with the sessions in memory."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

_YOUNG = 20_000
"""Of how many objects more than were freed the young ones are looked at."""
_PASSES = 1_000
_FOUND = 20_000
"""After so many passes, or so many objects found in cycles, all objects are looked at."""


def tune_garbage_collection() -> None:
    """Run the cycle collector seldom, on each object once, and never on those that exist now. Call it in the
    event loop when all is imported.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG)
    gc.callbacks.append(_Survivors(asyncio.get_running_loop()).note)


class _Survivors:
    """Sets aside what a pass over young objects left.

    A request's objects are freed by reference counts when it is over. Sessions and their histories stay, but
    have no cycles: to look at them again and again took a tenth of a turn, and held up all requests for
    150 ms at a time. What dies in a cycle later waits for the next pass over everything.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._passes = self._found = 0

    def note(self, phase: str, info: Mapping[str, Any]) -> None:
        """The collector's callback, in any thread."""
        if phase != "stop" or info["generation"] == 2:
            return
        gc.freeze()
        self._passes += 1
        self._found += info["collected"]
        if self._passes >= _PASSES or self._found >= _FOUND:
            self._passes = self._found = 0
            with suppress(RuntimeError):  # the loop is closed: the process ends
                self._loop.call_soon_threadsafe(_collect_everything)


def _collect_everything() -> None:
    gc.unfreeze()
    gc.collect()
    gc.freeze()
