"""What is searched: candidates for a profile, made of genes, each of which is one of its rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from crosswind.injectors import registry
from crosswind.injectors.conversation import Site
from crosswind.injectors.identity import digest
from crosswind.injectors.operator import Registered
from crosswind.injectors.wording import written_forms

SEVERITIES = tuple(step / 20 for step in range(1, 21))
CHANCES = (1.0, 0.8, 0.65, 0.5, 0.35, 0.25, 0.15, 0.1)
"""Of an occasion on which the schedule lets a rule act."""
SCHEDULES: tuple[Mapping[str, Any], ...] = (
    {},
    {"first_call": True},
    {"at_most": 1},
    {"from_nth": 2},
    {"every": 2},
)
WEIGHTS = (1, 2, 3)
ALL_OF, ONE_OF = "all_of", "one_of"
MOST = 4
"""Rules of one candidate."""

CONTENT = (Site.USER_TEXT, Site.TOOL_SCHEMA, Site.TOOL_RESULT)
"""Sites of what an agent reads. A slow or broken link costs time and is retried below the agent."""


@dataclass(frozen=True, slots=True)
class Gene:
    """One rule. `weight` counts where a candidate is `one_of`, `prompt` where a model writes for it."""

    operator: str
    severity: float
    weight: int = 1
    chance: float = 1.0
    schedule: int = 0
    """Which of SCHEDULES."""
    options: tuple[tuple[str, Any], ...] = ()
    prompt: str = ""

    def rule(self, compose: str) -> dict[str, Any]:
        """The rule as a profile's YAML has it."""
        when = dict(SCHEDULES[self.schedule])
        if self.chance < 1.0:
            when["probability"] = self.chance
        rule: dict[str, Any] = {"operator": self.operator, "severity": self.severity}
        if compose == ONE_OF and self.weight != 1:
            rule["weight"] = self.weight
        more = {"when": when, "options": dict(self.options), "prompt": self.prompt}
        return rule | {name: value for name, value in more.items() if value}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A profile's rules; its genes have an operator each, in the order of their names."""

    compose: str
    genes: tuple[Gene, ...]

    @classmethod
    def of(cls, compose: str, genes: Iterable[Gene]) -> Candidate:
        """The candidate with these genes: the last of an operator counts, at most `MOST` are kept."""
        unique = {gene.operator: gene for gene in genes}
        kept = sorted(list(unique.values())[-MOST:], key=lambda gene: gene.operator)
        return cls(compose if len(kept) > 1 else ALL_OF, tuple(kept))

    def body(self) -> dict[str, Any]:
        """What a profile says of it."""
        return {"compose": self.compose, "rules": [gene.rule(self.compose) for gene in self.genes]}

    @property
    def id(self) -> str:
        """Its name: a digest of what it says."""
        return digest("candidate", repr(self.body()))[:10]

    def __str__(self) -> str:
        joint = " | " if self.compose == ONE_OF else " + "
        return joint.join(f"{gene.operator}@{gene.severity:g}" for gene in self.genes)


@dataclass(frozen=True, slots=True)
class Space:
    """Which operators there are to choose from, and at which severity a fresh gene begins."""

    operators: tuple[str, ...]
    severity: float
    prompts: bool = False
    """Whether a model writes for the operators that have a written form."""

    @classmethod
    def of(cls, patterns: Sequence[str], severity: float, prompts: bool = False) -> Space:
        """All operators on content whose name matches a pattern. ValueError where none does."""
        found = tuple(
            name
            for name, entry in sorted(registry.operators().items())
            if entry.site in CONTENT and any(fnmatchcase(name, pattern) for pattern in patterns)
        )
        if not found:
            raise ValueError(
                f"no operator on users' texts, tools or results matches {', '.join(patterns)!r}; "
                "`crosswind noise list` names those there are"
            )
        return cls(found, min(SEVERITIES, key=lambda one: abs(one - severity)), prompts)

    def gene(self, operator: str) -> Gene:
        """A gene of that operator as the search begins with it."""
        return Gene(operator, self.severity)

    def choices(self, operator: str) -> Mapping[str, tuple[Any, ...]]:
        """The operator's options that have a few values to choose from."""
        return choices(registry.operators()[operator])

    def writable(self, operator: str) -> bool:
        """Whether a prompt of its own changes what the operator does."""
        return self.prompts and operator in written_forms()


def choices(entry: Registered) -> dict[str, tuple[Any, ...]]:
    """The options whose type is a choice of literals, with these."""
    if not entry.options:
        return {}
    types = get_type_hints(type(entry.implementation))
    found = {name: tuple(_literals(types[name])) for name in entry.options}
    return {name: values for name, values in found.items() if len(values) > 1}


def _literals(kind: Any) -> list[Any]:
    if get_origin(kind) is Literal:
        return list(get_args(kind))
    members = get_args(kind) if get_origin(kind) is Union or type(kind).__name__ == "UnionType" else ()
    if members and all(get_origin(one) is Literal or one is type(None) for one in members):
        return [value for one in members for value in (get_args(one) if one is not type(None) else ())]
    return []
