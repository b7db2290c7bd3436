"""Which policy versions may be trained on, according to their publisher.

A version that an engine does not serve correctly is doubted. Until a version is confirmed again, turns of no
known version are unfit for training too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec import structs

from crosswind.gateway.trajectory.fitness import Fitness
from crosswind.gateway.trajectory.record import Setting, Turn
from crosswind.gateway.trajectory.servers import SERVER, Servers

VERSION = "version"
"""The kind of these settings: {trusted, reason, max_difference} by the version's name. {swapping} is not
stored: an engine is loading the version, or has refused it.
"""


def untrusted_versions(settings: Iterable[Setting]) -> frozenset[str]:
    return frozenset(setting.name for setting in settings if _is_untrusted(setting.value))


def _is_untrusted(said: Mapping[str, Any]) -> bool:
    return said.get("trusted") is False


_REMEMBERED = 15
"""Earlier versions to remember. A turn that lasts longer began with an unknown version."""


@dataclass(slots=True)
class Trust:
    """The current trust in the versions, in memory. The settings behind it are in the store."""

    versions: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    stopped: str | None = None
    """Why turns of no known version may not be trained on, or None."""
    resumed_us: int = 0
    """When a version was last confirmed after a doubt."""
    single: bool = False
    """Whether there is only one upstream: then all statements about versions concern it."""
    swapping: set[str] = field(default_factory=set)
    """Versions that an engine was given since the last confirmation."""
    serving: list[tuple[int, str]] = field(default_factory=list)
    """The last confirmed versions with their times, newest last."""
    servers: Servers = field(default_factory=Servers)
    """Trust in the individual servers, independent of the versions."""

    @property
    def doubted(self) -> frozenset[str]:
        return frozenset(name for name, said in self.versions.items() if _is_untrusted(said))

    @classmethod
    def of(cls, settings: Iterable[Setting], *, single: bool = False) -> Trust:
        """Rebuild the trust from stored settings, in the order in which they came. An engine may serve
        another version by now.
        """
        trust = cls(single=single)
        for setting in settings:
            trust.hear(setting)
        trust.swapping, trust.serving, trust.resumed_us = set(), [], 0
        return trust

    def hear(self, setting: Setting) -> bool:
        """Apply a statement about a version or a server; return whether it stops or resumes the capture for
        training, for all servers or for that one.
        """
        if setting.kind == SERVER:
            return self.servers.hear(setting)
        if (swapping := setting.value.get("swapping")) is not None:
            (self.swapping.add if swapping else self.swapping.discard)(setting.name)
            return False
        self.versions[setting.name] = setting.value
        before = self.stopped
        if _is_untrusted(setting.value):
            said = setting.value.get("reason") or "the engine doesn't serve it rightly"
            self.stopped = f"version {setting.name!r}: {said}"
        else:
            self._serves(setting)
            if before is not None:
                self.stopped, self.resumed_us = None, setting.updated_us
        return (before is None) != (self.stopped is None)

    def _serves(self, setting: Setting) -> None:
        again = not self.swapping and self.serving and self.serving[-1][1] == setting.name
        if not again:
            self.serving = [*self.serving[-_REMEMBERED:], (setting.updated_us, setting.name)]
        self.swapping.clear()

    def assess(self, turn: Turn, began_us: int, replicas: Iterable[str] = ()) -> Turn:
        """Mark a turn, which is fit, unfit if its version, or one of the replicas that answered it, is
        doubted or may be.

        `began_us` is by the clock of the statements. `replicas` are base URLs. A turn of an engine that names
        no versions gets the versions that were serving when it began and ended. If they differ it is unfit:
        no token can be attributed to a version.
        """
        names = _sampling_versions(turn)
        if names:
            wrong = any(_is_untrusted(self.versions[name]) for name in names if name in self.versions)
        else:
            wrong = self.stopped is not None or began_us < self.resumed_us
            turn = self._with_end_versions(turn, began_us)
        wrong = wrong or self.servers.doubts(replicas, began_us)
        return structs.replace(turn, fitness=Fitness.POLICY_MISMATCH) if wrong else turn

    def _with_end_versions(self, turn: Turn, began_us: int) -> Turn:
        """Set the versions that were serving when the turn began and ended, as far as they are known."""
        if not self.single or not (self.serving or self.swapping):
            return turn
        earlier = [name for at, name in self.serving if at <= began_us]
        first = earlier[-1] if earlier else None
        last = self.serving[-1][1] if self.serving and not self.swapping else None
        # A swap to another version and back is a swap too.
        one = first is not None and last is not None and self.serving[-1][0] <= began_us
        fitness = turn.fitness if one else Fitness.VERSION_SPAN_UNKNOWN
        return structs.replace(turn, policy_first=first, policy_last=last, fitness=fitness)


def _sampling_versions(turn: Turn) -> set[str]:
    """The versions that the engine named for the turn and its inner rounds."""
    inner = (span for one in turn.rounds for spans in one.versions or () for span in spans)
    return {
        *(span.version for span in inner),
        *(span.version for completion in turn.completions for span in completion.versions),
    }
