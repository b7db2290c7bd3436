"""The contract of an engine that serves a policy, whatever the engine is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import ClassVar, Protocol, Self

from crosswind.policies.versions.version import PolicyVersion

REQUEST_TIMEOUT_S = 60.0
"""How long an engine may take for one request."""


class EngineError(Exception):
    """The engine can't be reached or refused. The message carries the engine's own reason."""


class EngineAway(EngineError):
    """The engine doesn't answer: nobody knows what it serves when it does again."""


@dataclass(frozen=True, slots=True)
class EngineHealth:
    """An engine's state, as it reports it."""

    version: str
    """Empty where it has none that we gave it."""
    step: int
    swaps: int
    in_flight: int
    checksum: str = ""
    """Of the version that it serves, as its directory said it; empty where the engine doesn't keep it."""
    context: int | None = None
    """Tokens of prompt and completion together, at most; None where the engine doesn't say."""
    path: str = ""
    """The directory of that version, as the engine sees it; empty where the engine doesn't say."""
    untrainable: str | None = None
    """Why nothing can be trained on what it says; None where it can."""


@dataclass(frozen=True, slots=True)
class PublishedVersion:
    """A swap that the engine made. Decoding stood still for `swap_ms`."""

    version: str
    swap_ms: float
    in_flight: int
    away: Mapping[str, str] = field(default_factory=dict)
    """Of several servers those that don't answer and so weren't given it, by their URLs, with how that was
    seen.
    """


@dataclass(frozen=True, slots=True)
class ScoredTokens:
    """Log-probabilities (natural logarithm, at temperature 1) of completions' tokens, and the version that
    gave them.
    """

    version: str
    logprobs: Sequence[Sequence[float]]
    away: Mapping[str, str] = field(default_factory=dict)
    """Of several servers those that it isn't said of, as in `PublishedVersion`."""


class Engine(Protocol):
    """An engine that serves one policy and can be given new versions of it while it serves: a publisher.

    Each kind is one file of `crosswind.policies.publishers`, or of a package that names its module under the
    entry points `crosswind.publishers`.
    """

    name: ClassVar[str]
    """Of the kind of engine."""

    def __init__(self, url: str, *, timeout: float = ...) -> None:
        """`url` is the server's root or its `/v1`; `timeout` is in seconds, for each request."""
        ...

    @classmethod
    def recognises(cls, url: str, timeout: float) -> bool:
        """Whether what answers at this URL is an engine of this kind. False too where nothing answers."""
        ...

    def health(self) -> EngineHealth:
        """Raises EngineAway where the engine doesn't answer, as all of these do."""
        ...

    def publish(self, version: PolicyVersion) -> PublishedVersion:
        """Serve this version from the next token on. Raises EngineError; the old version serves on then."""
        ...

    def score(self, prompts: Sequence[Sequence[int]], completions: Sequence[Sequence[int]]) -> ScoredTokens:
        """What the engine's own weights say of these completions after these prompts (token ids)."""
        ...

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class ClosingEngine:
    """Closes an engine's connection, where it holds one, at the end of a `with` block."""

    def close(self) -> None:
        """Nothing is held open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def root_of(url: str) -> str:
    """The root URL of a server, given as that or as its `/v1`."""
    return url.rstrip("/").removesuffix("/v1")
