"""Profiles: named, versioned YAML documents that say which operators act, how hard, when and where.

Validated once, here at the edge. A session gets a `Plan` that is compiled from a profile (`injectors.plan`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from injectors import registry
from injectors.bounds import DEFAULT, Bounds
from injectors.conversation import Site
from injectors.marked_yaml import MarkedYaml, YamlSyntaxError
from injectors.operator import ToolClass
from injectors.profile_errors import ProfileError, Trouble, of_validation
from injectors.schedule import ALWAYS, When

__all__ = ["Bounds", "Compose", "Profile", "ProfileError", "Rule", "Where", "load", "names", "parse"]

Severity = Annotated[float, Field(ge=0, le=1)]
_LEVEL = "/level-"


class Compose(StrEnum):
    """How a profile's rules are put together in one session."""

    ALL_OF = "all_of"
    """Every rule is in force."""
    ONE_OF = "one_of"
    """One operator is drawn for the session, by weight: exactly one noise type."""
    SEQUENCE = "sequence"
    """The expected turns are divided evenly: each rule is in force in its own part, in order."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Where(_Model):
    """What a rule may touch. All of its conditions must hold; what is absent holds always."""

    tools: tuple[str, ...] = ()
    """Names or globs of tools; none given means all. User rules ignore it."""
    text: str = ""
    """A regular expression that is searched for in the clean text: only where it is found the rule acts."""

    @field_validator("text")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"no regular expression ({error}): mend it") from error
        return pattern


class Rule(_Model):
    """One operator with its dose, schedule and scope. An `operator` glob such as `tool.*` stands for all
    it matches."""

    operator: str
    severity: Severity | None = None
    """Absent: the profile's severity at the session's level."""
    weight: float = Field(1.0, gt=0)
    """Relative chance of this operator in `one_of`."""
    when: When = ALWAYS
    where: Where = Where()


class Profile(_Model):
    """A profile as its YAML says it, with operators under their public names and globs expanded."""

    name: str = Field(min_length=1)
    version: int = Field(1, ge=1)
    summary: str = ""
    source: str = ""
    compose: Compose = Compose.ALL_OF
    levels: tuple[Severity, ...] = ()
    """Severity by level; level 0 is 0.0: clean."""
    level: int | None = Field(None, ge=0)
    """The level where a session asks for none. Absent: the highest."""
    coverage: float = Field(1.0, ge=0, le=1)
    """Share of the noisy sessions that get noise at all: drawn once a session, from its seed and scope."""
    assume_tools: Literal["declared", "replayable"] = "declared"
    """`replayable`: every tool call may be repeated safely, so that writes' results may be destroyed too."""
    tool_classes: dict[str, ToolClass] = Field(default_factory=dict)
    expected_turns: int = Field(12, ge=1)
    bounds: Bounds = DEFAULT
    rules: tuple[Rule, ...] = ()

    @property
    def highest_level(self) -> int | None:
        """The highest level, or None where the profile has no levels."""
        return len(self.levels) - 1 if self.levels else None

    def at_level(self, level: int) -> Profile:
        """The same profile with another default level, named `NAME/level-K`."""
        if not self.levels:
            raise ProfileError(f"profile {self.name!r} has no levels: name it without {_LEVEL}{level}")
        if not 0 <= level < len(self.levels):
            raise ProfileError(
                f"profile {self.name!r} has levels 0 to {len(self.levels) - 1}, not {level}: use these"
            )
        return self.model_copy(update={"level": level, "name": f"{self.name}{_LEVEL}{level}"})


def parse(yaml_text: str, origin: str) -> Profile:
    """The profile that the YAML text describes. `origin` (a file's name, say) stands before errors.
    ProfileError."""
    try:
        document = MarkedYaml(yaml_text)
    except YamlSyntaxError as error:
        raise ProfileError(
            f"{origin}:{error.line}: not valid YAML: {error}; mend the syntax there"
        ) from error
    if not isinstance(document.data, dict):
        raise ProfileError(
            f"{origin}:1: a profile is a mapping with `name` and `rules`, not {document.data!r:.60}"
        )
    try:
        profile = Profile.model_validate(document.data)
    except ValidationError as error:
        raise of_validation(error, Profile, document, origin) from error
    except RecursionError as error:
        raise ProfileError(f"{origin}:1: nested too deeply: a profile needs four levels at most") from error
    try:
        _check_levels(profile)
        return profile.model_copy(update={"rules": _known_operators(profile)})
    except Trouble as trouble:
        raise trouble.located(document, origin) from trouble


def _check_levels(profile: Profile) -> None:
    levels = profile.levels
    if levels and levels[0] != 0.0:
        raise Trouble(("levels", 0), levels[0], "level 0 is clean: make the first level 0.0")
    for at, (lower, upper) in enumerate(pairwise(levels), start=1):
        if upper < lower:
            raise Trouble(("levels", at), upper, f"severity rises with the level: make it at least {lower}")
    if profile.level is not None and profile.level >= max(1, len(levels)):
        raise Trouble(("level",), profile.level, f"there are {len(levels)} levels: choose one, from 0")
    for at, rule in enumerate(profile.rules):
        where: tuple[str | int, ...] = ("rules", at)
        if rule.severity is None and not levels:
            raise Trouble((*where, "severity"), None, "give the rule a severity, or the profile `levels`")
        if rule.weight != 1.0 and profile.compose is not Compose.ONE_OF:
            raise Trouble(
                (*where, "weight"), rule.weight, "weights count only with `compose: one_of`: remove it"
            )
        _check_when(rule, where)
        if rule.when.stage is not None and profile.compose is Compose.SEQUENCE:
            raise Trouble(
                (*where, "when", "stage"), rule.when.stage.value, "`sequence` sets the stages: remove it"
            )


def _check_when(rule: Rule, where: tuple[str | int, ...]) -> None:
    burst = rule.when.burst
    if burst and burst.enter + burst.leave > 1:
        sum_ = round(burst.enter + burst.leave, 3)
        raise Trouble((*where, "when", "burst"), sum_, "`enter` and `leave` add up to 1 at most: lower one")


def _known_operators(profile: Profile) -> tuple[Rule, ...]:
    rules: list[Rule] = []
    for at, rule in enumerate(profile.rules):
        if "*" in rule.operator:
            matched = [name for name in sorted(registry.operators()) if fnmatchcase(name, rule.operator)]
            if not matched:
                raise Trouble(
                    ("rules", at, "operator"), rule.operator, "the pattern matches no operator: widen it"
                )
        else:
            try:
                matched = [registry.resolve(rule.operator).name]
            except registry.UnknownOperatorError as error:
                mend = str(error).partition("; ")[2]
                raise Trouble(
                    ("rules", at, "operator"), rule.operator, f"unknown operator; {mend}"
                ) from error
        if rule.when.after_tool and not all(_knows_calls(name) for name in matched):
            raise Trouble(
                ("rules", at, "when", "after_tool"),
                rule.when.after_tool,
                "only rules on users' texts and tools' results know what was called before: remove it",
            )
        rules.extend(rule.model_copy(update={"operator": name}) for name in matched)
    return tuple(rules)


def _knows_calls(name: str) -> bool:
    return registry.operators()[name].site in (Site.USER_TEXT, Site.TOOL_RESULT)


@cache
def _built_in() -> Mapping[str, Traversable]:
    found: dict[str, Traversable] = {}

    def walk(folder: Traversable, prefix: str) -> None:
        for entry in folder.iterdir():
            if entry.is_dir():
                walk(entry, f"{prefix}{entry.name}/")
            elif entry.name.endswith(".yaml"):
                found[prefix + entry.name.removesuffix(".yaml")] = entry

    walk(files("injectors") / "profiles", "")
    return dict(sorted(found.items()))


def names() -> list[str]:
    """The built-in profiles' names."""
    return list(_built_in())


def source(name: str) -> str:
    """The YAML text of a built-in profile. Unknown: ProfileError naming the nearest."""
    try:
        return _built_in()[name].read_text(encoding="utf-8")
    except KeyError:
        raise ProfileError(f"unknown profile {name!r}; {registry.nearest(name, names())}") from None


@cache
def load(name: str) -> Profile:
    """The built-in profile of that name; `NAME/level-K` is NAME at level K. Unknown: ProfileError naming
    the nearest."""
    base, marker, level = name.rpartition(_LEVEL)
    if not marker:
        return parse(source(name), f"{name}.yaml")
    if not (level.isascii() and level.isdigit()):
        raise ProfileError(f"profile {name!r}: the level {level!r} is no number: write {base}{_LEVEL}1, say")
    return load(base).at_level(int(level))
