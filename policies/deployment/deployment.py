"""Deploy a version: publish it, confirm it, and roll back if the engine disagrees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from crosswind.policies.deployment.confirmation import (
    Confirmation,
    Difference,
    Probe,
    confirm,
    measure_difference,
)
from crosswind.policies.engine import Engine, EngineError, EngineHealth, PublishedVersion
from crosswind.policies.versions.journal import BAD, CONFIRMED, GOOD, PUBLISHED, JournalError, VersionJournal
from crosswind.policies.versions.version import PolicyVersion, Registry, VersionError, verify

ProbeOf = Callable[[PolicyVersion], Probe]
"""The trainer's log-probabilities of a version, on tokens to compare the engine's with."""


class NotConfirmed(Exception):
    """The engine doesn't serve what was trained. The message says what it serves now."""


class DeploymentObserver:
    """Learns what becomes of a version: the registry's journal, a gateway that records for training."""

    def on_publish(self, version: str) -> None:
        """An engine is about to be given this version."""

    def on_refused(self, version: str) -> None:
        """The engine didn't take it: what served before serves on."""

    def on_published(self, version: PolicyVersion) -> None:
        """The engine serves it; nothing is known of its log-probabilities yet."""

    def on_confirmed(self, version: str, confirmation: Confirmation) -> None:
        """The engine agrees: what this version samples may be trained on."""

    def on_missed(self, version: str, away: Mapping[str, str]) -> None:
        """These of several servers, by URL, don't answer: nothing that they sample may train until they are
        confirmed themselves. The values say how that was seen.
        """

    def on_doubted(self, version: str, reason: str) -> None:
        """The engine doesn't agree: nothing that it samples may train until a version is confirmed."""


@dataclass(frozen=True)
class JournalObserver(DeploymentObserver):
    """Writes what becomes of a version into the registry's journal."""

    journal: VersionJournal
    engine: str
    """Its URL."""

    def on_published(self, version: PolicyVersion) -> None:
        self.journal.append(PUBLISHED, version.version, engine=self.engine, checksum=version.checksum)

    def on_confirmed(self, version: str, confirmation: Confirmation) -> None:
        # There is no status where it was published elsewhere, or where the disk was full.
        status = self.journal.read_statuses().get(version)
        if status is not None and status.bad is not None:
            self.journal.append(GOOD, version, engine=self.engine)
        difference = confirmation.difference
        figures = {"max_difference": difference.largest, "tokens": difference.tokens}
        self.journal.append(CONFIRMED, version, engine=self.engine, **figures)

    def on_doubted(self, version: str, reason: str) -> None:
        self.journal.append(BAD, version, reason=reason, engine=self.engine)


@dataclass(frozen=True, slots=True)
class DeployedVersion:
    """A version that the engine serves, and how far it was from the trainer's (over 0 tokens: not looked)."""

    version: str
    swap_ms: float
    difference: Difference
    unreported: tuple[str, ...] = ()
    """Observers that couldn't be notified, and why."""
    away: Mapping[str, str] = field(default_factory=dict)
    """Of several servers those that don't answer, by their URLs: they weren't given it."""

    @property
    def problems(self) -> tuple[str, ...]:
        """One line for each thing that whoever deployed it should know."""
        return (*describe_missed(self.version, self.away), *self.unreported)


@dataclass(slots=True)
class Deployment:
    """Deploys versions to one engine. `tolerance` is what counts as rounding."""

    engine: Engine
    observers: Sequence[DeploymentObserver]
    tolerance: float
    unreported: list[str] = field(default_factory=list)

    def deploy(
        self, version: PolicyVersion, previous: PolicyVersion | None, probe_of: ProbeOf
    ) -> DeployedVersion:
        """Publish, unless it is what is served, and confirm. Where the engine disagrees, everyone is told
        before anything else, and then the engine goes back to `previous`.

        Raises VersionError where the files aren't the version's, EngineError where the engine refuses (the
        old version serves on in both cases), NotConfirmed where it serves something else than was trained.
        """
        verify(version)
        done = PublishedVersion(version.version, 0.0, 0)
        if not is_serving(self.engine.health(), version):
            done = self._publish(version)
        found = self.confirm(version, probe_of)
        if found.difference.is_rounding(self.tolerance):
            unreported, self.unreported = tuple(self.unreported), []
            away = {**done.away, **found.away}
            return DeployedVersion(version.version, done.swap_ms, found.difference, unreported, away)
        reason = describe_difference(found, self.tolerance)
        outcome = self.roll_back_to(previous, probe_of)
        raise NotConfirmed("; ".join([f"version {version.version!r}: {reason}", outcome, *self.unreported]))

    def confirm(self, version: PolicyVersion, probe_of: ProbeOf) -> Confirmation:
        """Compare the engine with the trainer and notify all observers. Raises EngineError."""
        probe = probe_of(version)
        if not probe.prompts:
            return Confirmation(version.version, measure_difference([], []))
        found = confirm(self.engine, version.version, probe)
        if found.difference.is_rounding(self.tolerance):
            self._notify(lambda observer: observer.on_confirmed(version.version, found))
            if found.away:
                self._notify(lambda observer: observer.on_missed(version.version, found.away))
        else:
            self.report_doubt(version.version, describe_difference(found, self.tolerance))
        return found

    def report_doubt(self, version: str, reason: str) -> None:
        """Notify all observers that the engine doesn't serve this version."""
        self._notify(lambda observer: observer.on_doubted(version, reason))

    def roll_back_to(self, previous: PolicyVersion | None, probe_of: ProbeOf) -> str:
        """Serve an earlier version again. Returns the outcome in words and raises nothing: the caller is
        already reporting something worse.
        """
        if previous is None:
            return "there is no earlier version to go back to; what it samples is not trained on"
        try:
            self._publish(previous)
            found = self.confirm(previous, probe_of)
        except (EngineError, VersionError) as error:
            return f"going back to {previous.version!r} failed: {error}"
        if not found.difference.is_rounding(self.tolerance):
            return (
                f"rolled back to {previous.version!r}, which the engine doesn't serve correctly either (by "
                f"{found.difference}): restart the engine; what it samples is not trained on"
            )
        return f"rolled back to {previous.version!r}"

    def _publish(self, version: PolicyVersion) -> PublishedVersion:
        self._notify(lambda observer: observer.on_publish(version.version))
        try:
            done = self.engine.publish(version)
        except EngineError:
            self._notify(lambda observer: observer.on_refused(version.version))
            raise
        self._notify(lambda observer: observer.on_published(version))
        if done.away:
            self._notify(lambda observer: observer.on_missed(version.version, done.away))
        return done

    def _notify(self, news: Callable[[DeploymentObserver], None]) -> None:
        """Notify all observers. One that fails stops neither the others nor the rollback."""
        for observer in self.observers:
            try:
                news(observer)
            except (EngineError, JournalError) as error:
                if str(error) not in self.unreported:
                    self.unreported.append(str(error))


def is_serving(health: EngineHealth, version: PolicyVersion) -> bool:
    """Whether the engine says that it serves this version. Raises EngineError where it serves other files
    under its name.
    """
    if health.version != version.version:
        return False
    if health.checksum and version.checksum and health.checksum != version.checksum:
        raise EngineError(
            f"the engine serves other files under the name {version.version!r} (checksum "
            f"{health.checksum[:16]}…, not {version.checksum[:16]}…); publish these under another name"
        )
    return True


def describe_missed(version: str, away: Mapping[str, str]) -> list[str]:
    return [
        f"{reason}; {version} is confirmed without it: what it samples when it is back is not trained on "
        "until a version is published to it, too, and confirmed"
        for reason in away.values()
    ]


def describe_difference(found: Confirmation, tolerance: float) -> str:
    return (
        f"the engine's log-probabilities differ from the trainer's by {found.difference}: more than the "
        f"tolerance of {tolerance:g}"
    )


def find_last_good(registry: Registry, version: PolicyVersion) -> PolicyVersion:
    """The nearest ancestor of a version that isn't marked bad and whose files are whole.

    Raises VersionError, with what is wrong with each ancestor, where there is none.
    """
    statuses, tried = registry.journal.read_statuses(), dict[str, str]()
    name = version.parent
    while name is not None and name != version.version and name not in tried:
        ancestor = None
        try:
            ancestor = registry.get(name)
            verify(ancestor)
            bad = statuses[name].bad if name in statuses else None
        except VersionError as error:
            bad = str(error)
        if ancestor is not None and bad is None:
            return ancestor
        tried[name] = str(bad)
        name = ancestor.parent if ancestor else None
    found = "; ".join(f"{name}: {bad}" for name, bad in tried.items()) or "it has no parent"
    raise VersionError(f"version {version.version!r} has no good ancestor to go back to ({found})")
