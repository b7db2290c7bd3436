"""What a curriculum is: which noise the next sessions get, found by a registry.

A curriculum is a class decorated with `@schedule(name)`, in a file of its own. Files of this package are
found by walking it; a third party's package names a module under the entry-point group `crosswind.curricula`.
Its own settings are `curriculum.NAME` for those here, and `curriculum.options` for one from elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from crosswind.injectors.engine.curriculum import Curriculum
from crosswind.injectors.profiles import load as profiles
from crosswind.trainer.config.settings import AdvantageScope, CurriculumSettings
from crosswind.trainer.curriculum.windows import TypeWindow
from crosswind.trainer.errors import RunRefused
from crosswind.trainer.registry import Registry
from crosswind.trainer.rollouts.groups import Group


class UnknownCurriculum(RunRefused):
    """No curriculum of that name; the message names the nearest."""


class Schedule(Protocol):
    """A training run's curriculum with its memory. It is made from its settings, and from what `to_json` gave
    when the run goes on; ValueError where the profile or a level isn't there.
    """

    version: int
    """Of what it declares: raised by each change."""

    def observe(self, groups: Sequence[Group]) -> list[str]:
        """Take in a step's groups. Returns what changed, in words."""
        ...

    def declare(self, advantages: AdvantageScope) -> Curriculum:
        """The dose of the sessions that open from now on."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Its memory as JSON data, for the checkpoint and the store."""
        ...

    @property
    def rho(self) -> float:
        """The share of noisy rollouts."""
        ...

    @property
    def types(self) -> Mapping[str, TypeWindow]:
        """The noise types that it steers, by operator; none where the profile decides."""
        ...


Factory = Callable[[CurriculumSettings, Mapping[str, Any] | None], Schedule]
F = TypeVar("F", bound=Factory)
_registry: Registry[Factory] = Registry(
    "curriculum",
    "crosswind.trainer.curriculum",
    "crosswind.curricula",
    UnknownCurriculum,
    "curriculum.kind",
    ("off",),
)


def schedule(name: str) -> Callable[[F], F]:
    """Register the decorated class under its public name. A second curriculum of one name is an error."""

    def register(factory: F) -> F:
        _registry.register(name, factory)
        return factory

    return register


def schedules() -> dict[str, Factory]:
    """All curricula by name: those of this package and those of installed packages."""
    return _registry.load()


def begin_schedule(settings: CurriculumSettings, stored: Mapping[str, Any] | None) -> Schedule | None:
    """The curriculum of the settings, which goes on from its memory; None for `off`. Raises
    UnknownCurriculum, naming the nearest.
    """
    return None if settings.kind == "off" else _registry.resolve(settings.kind)(settings, stored)


def read_profile(settings: CurriculumSettings) -> CurriculumSettings:
    """With the text and the name of the profile, where the settings name a file. ValueError, or ProfileError,
    where it can't be used.
    """
    if not settings.profile.endswith((".yaml", ".yml")):
        return settings
    try:
        text = Path(settings.profile).read_text("utf-8")
    except (OSError, ValueError) as error:
        raise ValueError(f"curriculum.profile: {settings.profile} can't be read: {error}") from None
    name = profiles.parse(text, settings.profile).name
    return settings.model_copy(update={"profile": name, "profile_text": text})


def read_levels(settings: CurriculumSettings) -> tuple[list[str], int]:
    """The operators of the profile and its highest level. ValueError where it has no levels."""
    text = settings.profile_text
    profile = profiles.load(settings.profile) if text is None else profiles.parse(text, settings.profile)
    if not profile.highest_level:
        raise ValueError(f"curriculum.profile: {settings.profile!r} has no levels; name one that has")
    return sorted({rule.operator for rule in profile.rules}), profile.highest_level
