"""Several engines that serve the same policy: they swap one after the other, so that the others answer."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import ClassVar

from policies.engine import Closing, Engine, EngineError, Health, Published, Scored
from policies.version import PolicyVersion, VersionError, read_version

_SEPARATOR = ","
_ALIKE = 1e-3
"""How far replicas' log-probabilities may be apart in float32 before they serve different weights."""


class Replicas(Closing):
    """Implements `policies.engine.Engine` over the URLs of a comma-separated list."""

    name: ClassVar[str] = "replicas"

    def __init__(self, url: str, *, timeout: float = 60.0) -> None:
        from policies.publishers.registry import connect

        with ExitStack() as stack:
            self._engines: dict[str, Engine] = {
                one: stack.enter_context(connect(one, timeout=timeout)) for one in _urls(url)
            }
            self._stack = stack.pop_all()

    @classmethod
    def recognises(cls, url: str, timeout: float) -> bool:
        """Whether there are several URLs: what answers there is seen when they are connected to."""
        return len(_urls(url)) > 1

    def health(self) -> Health:
        """Of all: the version is theirs only where it is the same; in flight and swaps are summed up."""
        healths = [engine.health() for engine in self._engines.values()]
        versions = {health.version for health in healths}
        first = healths[0]
        return Health(
            first.version if len(versions) == 1 else " and ".join(sorted(versions)),
            min(health.step for health in healths),
            sum(health.swaps for health in healths),
            sum(health.in_flight for health in healths),
            checksum=first.checksum if len(versions) == 1 else "",
            context=min((health.context for health in healths if health.context), default=None),
            path=first.path if len(versions) == 1 else "",
            untrainable=next((health.untrainable for health in healths if health.untrainable), None),
        )

    def publish(self, version: PolicyVersion) -> Published:
        """To one after the other. If one refuses, those before it go back to what they were given last.

        Raises EngineError naming the replica.
        """
        before = self._served()
        done: list[Published] = []
        for url, engine in self._engines.items():
            try:
                done.append(engine.publish(version))
            except EngineError as error:
                raise EngineError(f"{url}: {error}; {self._take_back(before, len(done))}") from None
        slowest = max(one.swap_ms for one in done)
        return Published(version.version, slowest, sum(one.in_flight for one in done))

    def _served(self) -> PolicyVersion | None:
        path = self.health().path
        try:
            return read_version(Path(path)) if path else None
        except VersionError:
            return None

    def _take_back(self, before: PolicyVersion | None, count: int) -> str:
        if not count:
            return "no replica serves the new version"
        if before is None:
            return f"the first {count} serve the new version: publish the old one to them"
        left = []
        for url, engine in list(self._engines.items())[:count]:
            try:
                engine.publish(before)
            except EngineError as error:
                left.append(f"{url} can't go back to {before.version!r}: {error}")
        return "; ".join(left) or f"all serve {before.version!r} again"

    def score(self, prompts: Sequence[Sequence[int]], completions: Sequence[Sequence[int]]) -> Scored:
        """What all say. Raises EngineError where one serves another version, or other weights by its name."""
        told = {url: engine.score(prompts, completions) for url, engine in self._engines.items()}
        (first, reference), *others = told.items()
        for url, scored in others:
            if scored.version != reference.version:
                raise EngineError(
                    f"{first} serves {reference.version!r}, {url} {scored.version!r}: publish again"
                )
            apart = _apart(reference, scored)
            if not apart <= _ALIKE:
                raise EngineError(
                    f"{url} gives log-probabilities that differ by {apart:.3g} from those of {first}, both "
                    f"as {reference.version!r}: one of them serves other weights"
                )
        return reference

    def close(self) -> None:
        self._stack.close()


def _apart(one: Scored, other: Scored) -> float:
    rows = (chain.from_iterable(scored.logprobs) for scored in (one, other))
    return max((abs(ours - theirs) for ours, theirs in zip(*rows, strict=True)), default=0.0)


def _urls(url: str) -> list[str]:
    return [one.strip() for one in url.split(_SEPARATOR) if one.strip()]
