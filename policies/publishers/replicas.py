"""Several engines that serve the same policy: they swap one after the other, so that the others answer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import ClassVar, TypeVar

from crosswind.policies.engine import (
    REQUEST_TIMEOUT_S,
    ClosingEngine,
    Engine,
    EngineAway,
    EngineError,
    EngineHealth,
    PublishedVersion,
    ScoredTokens,
)
from crosswind.policies.versions.version import PolicyVersion, VersionError, read_version

T = TypeVar("T")

_SEPARATOR = ","
_ALIKE = 1e-3
"""How far replicas' log-probabilities may be apart in float32 before they serve different weights."""


class ReplicatedEngine(ClosingEngine):
    """Implements `crosswind.policies.engine.Engine` over the URLs of a comma-separated list."""

    name: ClassVar[str] = "replicas"

    def __init__(self, url: str, *, timeout: float = REQUEST_TIMEOUT_S) -> None:
        """Raises EngineAway where none of them answers."""
        self._timeout = timeout
        self._engines: dict[str, Engine | None] = dict.fromkeys(_urls(url))
        """None while the kind isn't known: it didn't answer yet."""
        self._missed: dict[str, str] = {}
        """Those that the last publication didn't reach, with how it was seen that they are away."""
        with ExitStack() as stack:
            self._stack = stack
            self._ask_each(lambda _, engine: None)
            self._stack = stack.pop_all()

    @classmethod
    def recognises(cls, url: str, timeout: float) -> bool:
        """Whether there are several URLs: what answers there is seen when they are connected to."""
        return len(_urls(url)) > 1

    def health(self) -> EngineHealth:
        """Of all that answer: the version is theirs only where it is the same; in flight and swaps are summed
        up. Raises EngineAway where none does.
        """
        told, _ = self._ask_each(lambda _, engine: engine.health())
        healths = list(told.values())
        versions = {health.version for health in healths}
        first = healths[0]
        return EngineHealth(
            first.version if len(versions) == 1 else " and ".join(sorted(versions)),
            min(health.step for health in healths),
            sum(health.swaps for health in healths),
            sum(health.in_flight for health in healths),
            checksum=first.checksum if len(versions) == 1 else "",
            context=min((health.context for health in healths if health.context), default=None),
            path=first.path if len(versions) == 1 else "",
            untrainable=next((health.untrainable for health in healths if health.untrainable), None),
        )

    def publish(self, version: PolicyVersion) -> PublishedVersion:
        """To one after the other. If one refuses, those before it go back to what each was given last. Those
        that don't answer are left out, and named as away.

        Raises EngineError naming the replica.
        """
        before, done = self._read_served(), dict[str, PublishedVersion]()

        def give(url: str, engine: Engine) -> None:
            try:
                done[url] = engine.publish(version)
            except EngineAway:
                raise
            except EngineError as error:
                raise EngineError(f"{url}: {error}; {self._take_back(before, list(done))}") from None

        _, self._missed = self._ask_each(give)
        slowest = max(one.swap_ms for one in done.values())
        in_flight = sum(one.in_flight for one in done.values())
        return PublishedVersion(version.version, slowest, in_flight, dict(self._missed))

    def _read_served(self) -> dict[str, PolicyVersion]:
        """What each serves, as far as that is known."""
        told, _ = self._ask_each(lambda _, engine: engine.health().path)
        found: dict[str, PolicyVersion] = {}
        for url, path in told.items():
            with suppress(VersionError):
                if path:
                    found[url] = read_version(Path(path))
        return found

    def _take_back(self, before: Mapping[str, PolicyVersion], given: Sequence[str]) -> str:
        """Have these serve what they did; says in words what came of it."""
        if not given:
            return "no replica serves the new version"
        left = [
            f"{url} serves the new version: publish the old one to it" for url in given if url not in before
        ]
        for url in (one for one in given if one in before):
            try:
                self._connect(url).publish(before[url])
            except EngineError as error:
                left.append(f"{url} can't go back to {before[url].version!r}: {error}")
        names = " and ".join(sorted({repr(version.version) for version in before.values()}))
        return "; ".join(left) or f"all serve {names} again"

    def score(self, prompts: Sequence[Sequence[int]], completions: Sequence[Sequence[int]]) -> ScoredTokens:
        """What all say, but those that are away and those that missed the last publication, which are named.

        Raises EngineError where one serves another version, or other weights by its name.
        """
        told, away = self._ask_each(lambda _, engine: engine.score(prompts, completions), leave=self._missed)
        self._missed |= away
        (first, reference), *others = told.items()
        for url, scored in others:
            if scored.version != reference.version:
                raise EngineError(
                    f"{first} serves {reference.version!r}, {url} {scored.version!r}: publish again"
                )
            apart = _max_difference(reference, scored)
            if not apart <= _ALIKE:
                raise EngineError(
                    f"{url} gives log-probabilities that differ by {apart:.3g} from those of {first}, both "
                    f"as {reference.version!r}: one of them serves other weights"
                )
        return replace(reference, away=dict(self._missed))

    def _ask_each(
        self, ask: Callable[[str, Engine], T], leave: Collection[str] = ()
    ) -> tuple[dict[str, T], dict[str, str]]:
        """What each says, by its URL, and how it was seen that the others are away.

        Raises EngineAway where all are.
        """
        told: dict[str, T] = {}
        away: dict[str, str] = {}
        for url in self._engines:
            if url in leave:
                continue
            try:
                told[url] = ask(url, self._connect(url))
            except EngineAway as error:
                away[url] = str(error)
        if not told:
            raise EngineAway("; ".join({**self._missed, **away}.values()))
        return told, away

    def _connect(self, url: str) -> Engine:
        """The engine at this URL. Raises EngineAway where none answers."""
        from crosswind.policies.publishers.registry import connect

        engine = self._engines[url]
        if engine is None:
            engine = self._engines[url] = self._stack.enter_context(connect(url, timeout=self._timeout))
        return engine

    def close(self) -> None:
        self._stack.close()


def _max_difference(one: ScoredTokens, other: ScoredTokens) -> float:
    rows = (chain.from_iterable(scored.logprobs) for scored in (one, other))
    return max((abs(ours - theirs) for ours, theirs in zip(*rows, strict=True)), default=0.0)


def _urls(url: str) -> list[str]:
    return [one.strip() for one in url.split(_SEPARATOR) if one.strip()]
