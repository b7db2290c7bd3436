"""Putting a version in service: published, confirmed, and taken back where the engine doesn't agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from crosswind.policies.deployment.confirmation import Confirmation, Probe, confirm
from crosswind.policies.engine import Engine, EngineError, Health, Published
from crosswind.policies.versions.journal import BAD, CONFIRMED, GOOD, PUBLISHED, Journal, JournalError
from crosswind.policies.versions.version import PolicyVersion, Registry, VersionError, verify

ProbeOf = Callable[[PolicyVersion], Probe]
"""The trainer's log-probabilities of a version, on tokens to compare the engine's with."""


class NotConfirmed(Exception):
    """The engine doesn't serve what was trained. The message says what it serves now."""


class Witness(Protocol):
    """Who is told what became of a version: the registry's journal, a gateway that records for training."""

    def publishing(self, version: str) -> None:
        """An engine is about to be given this version."""
        ...

    def refused(self, version: str) -> None:
        """The engine didn't take it: what served before serves on."""
        ...

    def published(self, version: PolicyVersion) -> None: ...

    def confirmed(self, version: str, confirmation: Confirmation) -> None:
        """The engine agrees: what this version samples may be trained on."""
        ...

    def missed(self, version: str, away: Mapping[str, str]) -> None:
        """These of several servers, by their URLs, don't answer: nothing that they sample may train until
        they are confirmed themselves. The values say how it was seen.
        """
        ...

    def doubted(self, version: str, reason: str) -> None:
        """The engine doesn't agree: nothing that it samples may train until a version is confirmed."""
        ...


@dataclass(frozen=True, slots=True)
class JournalWitness:
    """Notes it in the registry's journal."""

    journal: Journal
    engine: str
    """Its URL."""

    def publishing(self, version: str) -> None:
        """Nothing has come of it yet."""

    def refused(self, version: str) -> None:
        """Nothing has come of it."""

    def published(self, version: PolicyVersion) -> None:
        self.journal.note(PUBLISHED, version.version, engine=self.engine, checksum=version.checksum)

    def confirmed(self, version: str, confirmation: Confirmation) -> None:
        # Nothing is noted of it where it was published elsewhere, or where the disk was full.
        standing = self.journal.standings().get(version)
        if standing is not None and standing.bad is not None:
            self.journal.note(GOOD, version, engine=self.engine)
        figures = {"max_difference": confirmation.max_difference, "tokens": confirmation.tokens}
        self.journal.note(CONFIRMED, version, engine=self.engine, **figures)

    def missed(self, version: str, away: Mapping[str, str]) -> None:
        """That says nothing of the version."""

    def doubted(self, version: str, reason: str) -> None:
        self.journal.note(BAD, version, reason=reason, engine=self.engine)


@dataclass(frozen=True, slots=True)
class InService:
    """A version that the engine serves, confirmed on `tokens` tokens (0: with nothing)."""

    version: str
    swap_ms: float
    max_difference: float
    tokens: int
    untold: tuple[str, ...] = ()
    """Who couldn't be told, and why."""
    away: Mapping[str, str] = field(default_factory=dict)
    """Of several servers those that don't answer, by their URLs: they weren't given it."""

    @property
    def troubles(self) -> tuple[str, ...]:
        """What whoever put it in service should know, a line each."""
        return (*left_out(self.version, self.away), *self.untold)


@dataclass(slots=True)
class Service:
    """An engine, who is told, and what difference is taken for rounding."""

    engine: Engine
    witnesses: Sequence[Witness]
    tolerance: float
    untold: list[str] = field(default_factory=list)

    def put(self, version: PolicyVersion, previous: PolicyVersion | None, probe_of: ProbeOf) -> InService:
        """Publish, unless it is what is served, and confirm. Where the engine disagrees, everyone is told
        before anything else, and then the engine goes back to `previous`.

        Raises VersionError where the files aren't the version's, EngineError where the engine refuses (the
        old version serves on in both cases), NotConfirmed where it serves something else than was trained.
        """
        verify(version)
        done = Published(version.version, 0.0, 0)
        if not serves(self.engine.health(), version):
            done = self._publish(version)
        found = self.confirm(version, probe_of)
        if found.max_difference <= self.tolerance:
            untold, self.untold = tuple(self.untold), []
            away = {**done.away, **found.away}
            return InService(version.version, done.swap_ms, found.max_difference, found.tokens, untold, away)
        reason = disagreement(found, self.tolerance)
        outcome = self.back_to(previous, probe_of)
        raise NotConfirmed("; ".join([f"version {version.version!r}: {reason}", outcome, *self.untold]))

    def confirm(self, version: PolicyVersion, probe_of: ProbeOf) -> Confirmation:
        """Compare the engine with the trainer, and tell everyone. Raises EngineError."""
        probe = probe_of(version)
        if not probe.prompts:
            return Confirmation(version.version, 0.0, 0)
        found = confirm(self.engine, version.version, probe)
        if found.max_difference <= self.tolerance:
            self._tell(lambda witness: witness.confirmed(version.version, found))
            if found.away:
                self._tell(lambda witness: witness.missed(version.version, found.away))
        else:
            self.doubt(version.version, disagreement(found, self.tolerance))
        return found

    def doubt(self, version: str, reason: str) -> None:
        """Tell everyone that a version isn't what it is taken for."""
        self._tell(lambda witness: witness.doubted(version, reason))

    def back_to(self, previous: PolicyVersion | None, probe_of: ProbeOf) -> str:
        """Serve an earlier version again; says in words what came of it, and raises nothing: whoever called
        has something worse to say.
        """
        if previous is None:
            return "there is no earlier version to go back to; what it samples is not trained on"
        try:
            self._publish(previous)
            found = self.confirm(previous, probe_of)
        except (EngineError, VersionError) as error:
            return f"going back to {previous.version!r} failed: {error}"
        if found.max_difference > self.tolerance:
            return (
                f"rolled back to {previous.version!r}, which the engine doesn't serve rightly either (by up "
                f"to {found.max_difference:.3g}): start the engine anew; what it samples is not trained on"
            )
        return f"rolled back to {previous.version!r}"

    def _publish(self, version: PolicyVersion) -> Published:
        self._tell(lambda witness: witness.publishing(version.version))
        try:
            done = self.engine.publish(version)
        except EngineError:
            self._tell(lambda witness: witness.refused(version.version))
            raise
        self._tell(lambda witness: witness.published(version))
        if done.away:
            self._tell(lambda witness: witness.missed(version.version, done.away))
        return done

    def _tell(self, news: Callable[[Witness], None]) -> None:
        """One who can't be told doesn't keep the others from it, nor the engine from being set right."""
        for witness in self.witnesses:
            try:
                news(witness)
            except (EngineError, JournalError) as error:
                if str(error) not in self.untold:
                    self.untold.append(str(error))


def serves(health: Health, version: PolicyVersion) -> bool:
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


def left_out(version: str, away: Mapping[str, str]) -> list[str]:
    """In words, which of several servers weren't given a version."""
    return [
        f"{reason}; {version} is confirmed without it: what it samples when it is back is not trained on "
        "until a version is published to it, too, and confirmed"
        for reason in away.values()
    ]


def disagreement(found: Confirmation, tolerance: float) -> str:
    """In words."""
    return (
        f"the engine's log-probabilities differ from the trainer's by up to {found.max_difference:.3g} over "
        f"{found.tokens} tokens, above the tolerance of {tolerance:g}"
    )


def last_good(registry: Registry, version: PolicyVersion) -> PolicyVersion:
    """The nearest ancestor of a version that isn't marked bad and whose files are whole.

    Raises VersionError, with what is wrong with each ancestor, where there is none.
    """
    standings, tried = registry.journal.standings(), dict[str, str]()
    name = version.parent
    while name is not None and name != version.version and name not in tried:
        ancestor = None
        try:
            ancestor = registry.get(name)
            verify(ancestor)
            bad = standings[name].bad if name in standings else None
        except VersionError as error:
            bad = str(error)
        if ancestor is not None and bad is None:
            return ancestor
        tried[name] = str(bad)
        name = ancestor.parent if ancestor else None
    found = "; ".join(f"{name}: {bad}" for name, bad in tried.items()) or "it has no parent"
    raise VersionError(f"version {version.version!r} has no good ancestor to go back to ({found})")
