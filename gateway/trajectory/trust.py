"""Which policy versions may be trained on: what whoever publishes them said of the engine that serves them.

A version that an engine was seen not to serve rightly is doubted, and with it everything that can't be said
to be another's, until a version is confirmed.
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
"""The kind of the settings that say it: {trusted, reason, max_difference} by the version's name. What isn't
stored is {swapping}: an engine is being given the version, or has refused it.
"""


def untrusted_versions(settings: Iterable[Setting]) -> frozenset[str]:
    """The versions of these settings that nothing may be trained on."""
    return frozenset(setting.name for setting in settings if _is_untrusted(setting.value))


def _is_untrusted(said: Mapping[str, Any]) -> bool:
    return said.get("trusted") is False


_REMEMBERED = 15
"""Versions before the last one: a turn that lasts longer began with nobody knows what."""


@dataclass(slots=True)
class Trust:
    """What is known of the versions now. In memory; the settings it was made of are in the store."""

    versions: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    stopped: str | None = None
    """Why nothing that no version is known of may be trained on; None where it may."""
    resumed_us: int = 0
    """When a version was confirmed after one had been doubted."""
    single: bool = False
    """Whether there is but one upstream: what is said of versions is said of it then."""
    swapping: set[str] = field(default_factory=set)
    """Versions that an engine was given since one was last confirmed."""
    serving: list[tuple[int, str]] = field(default_factory=list)
    """The last versions that were confirmed, each with when; the newest last."""
    servers: Servers = field(default_factory=Servers)
    """Which of several servers nothing may train of, whatever is said of versions."""

    @property
    def doubted(self) -> frozenset[str]:
        """The versions of which nothing may be trained on."""
        return frozenset(name for name, said in self.versions.items() if _is_untrusted(said))

    @classmethod
    def of(cls, settings: Iterable[Setting], *, single: bool = False) -> Trust:
        """As it stood when the settings were written. What an engine serves may be another version since."""
        trust = cls(single=single)
        for setting in sorted(settings, key=lambda setting: setting.updated_us):
            trust.hear(setting)
        trust.swapping, trust.serving = set(), []
        return trust

    def hear(self, setting: Setting) -> bool:
        """Take in what was said of a version, or of one of several servers; True where that stops the capture
        for training, in all or of that server, or lets it go on.
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
        """A version was confirmed."""
        again = not self.swapping and self.serving and self.serving[-1][1] == setting.name
        if not again:
            self.serving = [*self.serving[-_REMEMBERED:], (setting.updated_us, setting.name)]
        self.swapping.clear()

    def assess(self, turn: Turn, replicas: Iterable[str] = ()) -> Turn:
        """The turn, unfit where it would be fit and its version is doubted, or isn't known and may be, or one
        of the replicas that answered is; `replicas`: their base URLs.

        A turn of an engine that names no versions gets those that were said to serve when it began and when
        it ended; it is unfit where they differ, since nobody knows which token is whose.
        """
        if turn.fitness != Fitness.FIT:
            return turn
        names = _sampling_versions(turn)
        if names:
            wrong = any(_is_untrusted(self.versions[name]) for name in names if name in self.versions)
        else:
            wrong = self.stopped is not None or turn.created_us < self.resumed_us
            turn = self._with_end_versions(turn)
        wrong = wrong or self.servers.doubts(replicas, turn.created_us)
        return structs.replace(turn, fitness=Fitness.POLICY_MISMATCH) if wrong else turn

    def _with_end_versions(self, turn: Turn) -> Turn:
        """The turn with the versions at its two ends, as far as anything was said of them."""
        if not self.single or not (self.serving or self.swapping):
            return turn
        earlier = [name for at, name in self.serving if at <= turn.created_us]
        first = earlier[-1] if earlier else None
        last = self.serving[-1][1] if self.serving and not self.swapping else None
        # There and back again is a swap, too.
        one = first is not None and last is not None and self.serving[-1][0] <= turn.created_us
        fitness = turn.fitness if one else Fitness.VERSION_SPAN_UNKNOWN
        return structs.replace(turn, policy_first=first, policy_last=last, fitness=fitness)


def _sampling_versions(turn: Turn) -> set[str]:
    """The versions that sampled it, the rounds answered inside included, as far as the engine said them."""
    inner = (span for one in turn.rounds for spans in one.versions or () for span in spans)
    return {
        *(span.version for span in inner),
        *(span.version for completion in turn.completions for span in completion.versions),
    }
