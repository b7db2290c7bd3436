"""Which policy versions may be trained on: what whoever publishes them said of the engine that serves them.

A version that an engine was seen not to serve rightly is doubted, and with it everything that can't be said
to be another's, until a version is confirmed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gateway.trajectory.record import FIT, Setting, Turn

POLICY_MISMATCH = "policy_mismatch"
"""The fitness of a turn whose policy version the engine was seen not to serve rightly."""

VERSION = "version"
"""The kind of the settings that say it: {trusted, reason, max_difference} by the version's name."""


def doubted(settings: Iterable[Setting]) -> frozenset[str]:
    """The versions of these settings that nothing may be trained on."""
    return frozenset(setting.name for setting in settings if not setting.value.get("trusted"))


@dataclass(slots=True)
class Trust:
    """What is known of the versions now. In memory; the settings it was made of are in the store."""

    versions: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    stopped: str | None = None
    """Why nothing that no version is known of may be trained on; None where it may."""
    resumed_us: int = 0
    """When a version was confirmed after one had been doubted."""

    @property
    def doubted(self) -> frozenset[str]:
        """The versions of which nothing may be trained on."""
        return frozenset(name for name, said in self.versions.items() if not said.get("trusted"))

    @classmethod
    def of(cls, settings: Iterable[Setting]) -> Trust:
        """As it stood when the settings were written."""
        trust = cls()
        for setting in sorted(settings, key=lambda setting: setting.updated_us):
            trust.hear(setting)
        return trust

    def hear(self, setting: Setting) -> bool:
        """Take in what was said of a version; True where that stops the capture for training, or lets it go
        on.
        """
        self.versions[setting.name] = setting.value
        before = self.stopped
        if not setting.value.get("trusted"):
            said = setting.value.get("reason") or "the engine doesn't serve it rightly"
            self.stopped = f"version {setting.name!r}: {said}"
        elif before is not None:
            self.stopped, self.resumed_us = None, setting.updated_us
        return (before is None) != (self.stopped is None)

    def judged(self, turn: Turn) -> Turn:
        """The turn, unfit where it would be fit and its version is doubted, or isn't known and may be."""
        if turn.fitness != FIT:
            return turn
        names = _versions(turn)
        wrong = any(not self.versions[name].get("trusted") for name in names if name in self.versions)
        if not names:
            wrong = self.stopped is not None or turn.created_us < self.resumed_us
        return replace(turn, fitness=POLICY_MISMATCH) if wrong else turn


def _versions(turn: Turn) -> set[str]:
    """The versions that sampled it, the rounds answered inside included, as far as the engine said them."""
    inner = (span for entry in turn.inner for spans in entry.get("versions", ()) for span in spans)
    return {
        *(str(span["version"]) for span in inner),
        *(span.version for completion in turn.completions for span in completion.versions),
    }
