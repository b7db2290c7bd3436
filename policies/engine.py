"""What the trainer needs of an engine that serves a policy, whatever the engine is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from policies.version import PolicyVersion


class EngineError(Exception):
    """The engine can't be reached or refused. The message carries the engine's own reason."""


@dataclass(frozen=True, slots=True)
class Health:
    """What an engine says of itself."""

    version: str
    step: int
    swaps: int
    in_flight: int


@dataclass(frozen=True, slots=True)
class Published:
    """A swap as the engine carried it out: `swap_ms` is how long decoding stood still."""

    version: str
    swap_ms: float
    in_flight: int


@dataclass(frozen=True, slots=True)
class Probe:
    """Token sequences with the log-probabilities (natural logarithm) that the trainer gives their
    completions.
    """

    prompts: Sequence[Sequence[int]]
    completions: Sequence[Sequence[int]]
    logprobs: Sequence[Sequence[float]]
    temperature: float = 1.0


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The largest absolute difference, over `tokens` tokens, of the engine's and the trainer's log-
    probabilities.
    """

    version: str
    max_difference: float
    tokens: int


class Engine(Protocol):
    """An engine that serves one policy and can be given new versions of it while it serves."""

    def health(self) -> Health:
        """Raises EngineError where the engine doesn't answer."""
        ...

    def publish(self, version: PolicyVersion) -> Published:
        """Serve this version from the next token on. Raises EngineError; the old version serves on then."""
        ...

    def confirm(self, version: str, probe: Probe) -> Confirmation:
        """Compare log-probabilities on the same tokens. Raises EngineError if another version is served."""
        ...
