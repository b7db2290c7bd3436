"""The ways in which a training run ends early, by which the command chooses its exit code."""

from __future__ import annotations


class RunFailed(Exception):
    """The run can't go on, though it was started rightly. The message names the fix."""


class WorkerLost(RunFailed):
    """Another worker ended, or didn't answer within the deadline."""


class OutOfMemory(RunFailed):
    """A micro-batch doesn't fit into memory, and can't be halved here.

    `places`: its tokens, padding included.
    """

    def __init__(self, said: str, places: int) -> None:
        super().__init__(said)
        self.places = places


class RunRefused(ValueError):
    """The run can't start with these settings. The message is one line: field, value and fix."""
