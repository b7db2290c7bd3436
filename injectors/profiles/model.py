"""What a profile is: rules with their doses, schedules and scopes, validated where a document comes in."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from crosswind.injectors.guard.bounds import DEFAULT, Bounds, Real, Whole
from crosswind.injectors.profiles.errors import ProfileError
from crosswind.injectors.profiles.expressions import check_expression
from crosswind.injectors.profiles.marks import check_mark
from crosswind.injectors.profiles.schedule import ALWAYS, When
from crosswind.injectors.targets import Half, ToolClass

Severity = Annotated[Real, Field(ge=0, le=1)]
LEVEL = "/level-"
"""Stands between a profile's name and a level."""


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
    text: Annotated[str, AfterValidator(check_expression)] = ""
    """A regular expression that is searched for in the clean text: only where it is found the rule acts."""

    observation: Annotated[str, AfterValidator(check_mark)] = ""
    """Marks the observation in users' messages, on which the rule then acts instead of tools' results: a JSON
    pointer (it begins with /), or a regular expression, whose first group, if any, is the observation."""


class Companion(_Model):
    """One operator with its dose, schedule and scope. An `operator` glob such as `tool.*` stands for all
    it matches."""

    operator: str
    severity: Severity | None = None
    """Absent: the profile's severity at the session's level."""
    when: When = ALWAYS
    where: Where = Where()
    options: dict[str, Any] = Field(default_factory=dict)
    """The operator's own settings, by name; `crosswind noise show` lists them. Absent: its defaults."""
    entries: dict[str, Annotated[Real, Field(ge=0, allow_inf_nan=False)]] = Field(default_factory=dict)
    """Weights of phrase pack entries by name, `en/travel#same-001`, or glob. One that isn't named has weight
    1; one of weight 0 isn't drawn."""
    prompt: str = Field("", max_length=4000)
    """What a model is told besides, where one writes for the operator: the manner, the field, the voice."""


class Rule(Companion):
    """A rule of a profile, with the rules that are in force where it is: a cue beside the tools that it makes
    tempting."""

    weight: Real = Field(1.0, gt=0, allow_inf_nan=False)
    """Relative chance of this operator in `one_of`."""
    companions: tuple[Companion, ...] = Field((), alias="with")
    """They have no part in `one_of`'s draw, and are no noise type of their own."""


class Profile(_Model):
    """A profile as its YAML says it, with operators under their public names and globs expanded."""

    name: str = Field(min_length=1)
    version: Whole = Field(1, ge=1)
    summary: str = ""
    source: str = ""
    compose: Compose = Compose.ALL_OF
    levels: tuple[Severity, ...] = ()
    """Severity by level; level 0 is 0.0: clean."""
    level: Annotated[Whole, Field(ge=0)] | None = None
    """The level where a session asks for none. Absent: the highest."""
    coverage: Real = Field(1.0, ge=0, le=1)
    """Share of the noisy sessions that get noise at all: drawn once a session, from its seed and scope."""
    at_least_one: bool = False
    """Every rule acts at the first place that it has in a session, whatever its chances: `when.at_least_one`
    for all of them. Their companions go by their own schedules."""
    labels: dict[str, str] = Field(default_factory=dict)
    """Only sessions with all of these labels get noise; a value may be a glob."""
    assume_tools: Literal["declared", "replayable"] = "declared"
    """`replayable`: every tool call may be repeated safely, so that writes' results may be destroyed too."""
    tools: tuple[str, ...] = ()
    """The agent's tools, where they are known: then what names another one is refused."""
    tool_classes: dict[str, ToolClass] = Field(default_factory=dict)
    expected_turns: Whole = Field(12, ge=1)
    user_can_answer: bool = True
    """Whether somebody answers the agent's questions: only then a user may withhold what the task needs."""
    phrases: Half = Half.TRAIN
    """The half of the phrase packs that operators draw from: train on one half, and measure on the other."""
    bounds: Bounds = DEFAULT
    rules: tuple[Rule, ...] = ()
    lineage: dict[str, Any] = Field(default_factory=dict)
    """Where a profile that was searched comes from: nothing that sessions depend on."""

    @cached_property
    def types(self) -> Mapping[str, float]:
        """The weight of each noise type, in the order of the rules."""
        weights = dict.fromkeys((rule.operator for rule in self.rules), 0.0)
        for rule in self.rules:
            weights[rule.operator] += rule.weight
        return weights

    @property
    def highest_level(self) -> int | None:
        return len(self.levels) - 1 if self.levels else None

    def at_level(self, level: int) -> Profile:
        """The same profile with another default level, named `NAME/level-K`."""
        if not self.levels:
            raise ProfileError(f"profile {self.name!r} has no levels: name it without {LEVEL}{level}")
        if not 0 <= level < len(self.levels):
            raise ProfileError(
                f"profile {self.name!r} has levels 0 to {len(self.levels) - 1}, not {level}: use these"
            )
        return self.model_copy(update={"level": level, "name": f"{self.name}{LEVEL}{level}"})
