"""Ownership of the engine: a run publishes over its own versions and over what it found there, never over
what somebody else has published since.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from crosswind.policies.engine import Engine, EngineHealth
from crosswind.policies.versions.version import Registry, VersionError
from crosswind.trainer.errors import RunFailed


class EngineTaken(RunFailed):
    """The engine serves a version that another trainer, or a person, put there while the run was at work."""


@dataclass(frozen=True, slots=True)
class EngineOwnership:
    """What the engine served when the run began: this, and the run's own versions, may be replaced."""

    found: set[tuple[str, str]] = field(default_factory=set)
    """Names and checksums of what was served when the run began with the engine: it may come back when the
    engine, or one of several, is restarted.
    """

    def begin(self, engine: Engine, owns: Callable[[str], bool]) -> str | None:
        """Take the engine as it is; gives what it serves where the run doesn't own that."""
        health = engine.health()
        served = _list_served(health)
        self.found.update(served)
        return None if all(not name or owns(name) for name, _ in served) else health.version

    def find_foreign(self, engine: Engine, owns: Callable[[str], bool], registry: Registry) -> str | None:
        """What the engine serves, where the run neither put it there nor found it there. An engine that
        names none, or has gone back to an earlier version of the run, is the run's still.
        """
        for name, checksum in _list_served(health := engine.health()):
            if not name or (name, checksum) in self.found:
                continue
            if not owns(name) or not _same_files(registry, name, checksum):
                return health.version
        return None


def _list_served(health: EngineHealth) -> list[tuple[str, str]]:
    """Names and checksums: replicas may serve several, of which no checksums are told."""
    return [(name, health.checksum) for name in health.version.split(" and ")]


def _same_files(registry: Registry, name: str, checksum: str) -> bool:
    try:
        known = registry.get(name).checksum
    except VersionError:
        return True
    return not checksum or not known or checksum == known
