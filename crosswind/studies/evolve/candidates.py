"""What is searched: candidates for a profile, made of genes, and the steps that make one from others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from crosswind.injectors import registry
from crosswind.injectors.conversation import Site
from crosswind.injectors.identity import digest
from crosswind.injectors.operator import Registered
from crosswind.injectors.profiles.load import Compose, Profile
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.wording import all_written_forms
from crosswind.studies.evolve.entries import EntryPool

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
MOST = 10
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
    entries: tuple[tuple[str, float], ...] = ()
    """Weights of pack entries, where they aren't 1."""

    def rule(self, compose: str) -> dict[str, Any]:
        """The rule as a profile's YAML has it."""
        when = dict(SCHEDULES[self.schedule])
        if self.chance < 1.0:
            when["probability"] = self.chance
        rule: dict[str, Any] = {"operator": self.operator, "severity": self.severity}
        if compose == ONE_OF and self.weight != 1:
            rule["weight"] = self.weight
        more = {
            "when": when,
            "options": dict(self.options),
            "prompt": self.prompt,
            "entries": dict(self.entries),
        }
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

    @classmethod
    def of_profile(cls, profile: Profile) -> Candidate:
        """What of a profile is searched: its operators with severities, weights and options."""
        genes = [
            Gene(
                rule.operator,
                min(SEVERITIES, key=lambda one: abs(one - (rule.severity or profile.levels[-1]))),
                weight=max(1, round(rule.weight)),
                options=tuple(sorted(rule.options.items())),
                prompt=rule.prompt,
                entries=tuple(sorted(rule.entries.items())),
            )
            for rule in profile.rules
            if registry.operators()[rule.operator].site in CONTENT
        ]
        return cls.of(ONE_OF if profile.compose is Compose.ONE_OF else ALL_OF, genes)

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
    entries: EntryPool = field(default_factory=EntryPool)
    """The pack entries that the operators draw."""

    @classmethod
    def of(
        cls, patterns: Sequence[str], severity: float, prompts: bool = False, entries: EntryPool | None = None
    ) -> Space:
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
        nearest = min(SEVERITIES, key=lambda one: abs(one - severity))
        return cls(found, nearest, prompts, entries or EntryPool())

    def gene(self, operator: str) -> Gene:
        """A gene of that operator as the search begins with it."""
        return Gene(operator, self.severity)

    def choices(self, operator: str) -> Mapping[str, tuple[Any, ...]]:
        """The operator's options that have a few values to choose from."""
        return literal_options(registry.operators()[operator])

    def writable(self, operator: str) -> bool:
        """Whether a prompt of its own changes what the operator does."""
        return self.prompts and operator in all_written_forms()


def literal_options(entry: Registered) -> dict[str, tuple[Any, ...]]:
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


LONGEST_STEP = 5
"""Of a severity, in places of SEVERITIES."""

Step = Callable[[Space, Candidate, SeededRandom], Candidate]


def mutate(space: Space, parent: Candidate, rng: SeededRandom) -> Candidate:
    """The parent with one or two small steps."""
    child = parent
    for _ in range(rng.integer(1, 2)):
        child = rng.weighted(list(STEPS), [STEPS[step] for step in STEPS])(space, child, rng)
    return child


def cross(one: Candidate, other: Candidate, rng: SeededRandom) -> Candidate:
    """Rules of both parents, each with an even chance; at least one."""
    genes = [*one.genes, *other.genes]
    kept = [gene for gene in genes if rng.chance(0.5)] or [rng.choice(genes)]
    return Candidate.of(rng.choice((one.compose, other.compose)), kept)


def _replace_gene(parent: Candidate, gene: Gene, instead: Gene) -> Candidate:
    return Candidate.of(parent.compose, [instead if one is gene else one for one in parent.genes])


def _change_severity(space: Space, parent: Candidate, rng: SeededRandom) -> Candidate:
    gene = rng.choice(parent.genes)
    step = rng.integer(1, LONGEST_STEP) * (1 if rng.chance(0.5) else -1)
    at = min(len(SEVERITIES) - 1, max(0, SEVERITIES.index(gene.severity) + step))
    return _replace_gene(parent, gene, replace(gene, severity=SEVERITIES[at]))


def _change_chance(space: Space, parent: Candidate, rng: SeededRandom) -> Candidate:
    gene = rng.choice(parent.genes)
    return _replace_gene(parent, gene, replace(gene, chance=rng.choice(CHANCES)))


def _change_schedule(space: Space, parent: Candidate, rng: SeededRandom) -> Candidate:
    gene = rng.choice(parent.genes)
    return _replace_gene(parent, gene, replace(gene, schedule=rng.integer(0, len(SCHEDULES) - 1)))


def _change_options(space: Space, parent: Candidate, rng: SeededRandom) -> Candidate:
    """Another value of an option; where no rule has one to choose, a step of severity."""
    open_to = [gene for gene in parent.genes if space.choices(gene.operator)]
    if not open_to:
        return _change_severity(space, parent, rng)
    gene = rng.choice(open_to)
    name, values = rng.choice(list(space.choices(gene.operator).items()))
    options = {**dict(gene.options), name: rng.choice(values)}
    return _replace_gene(parent, gene, replace(gene, options=tuple(sorted(options.items()))))


def _change_entries(space: Space, parent: Candidate, rng: SeededRandom) -> Candidate:
    """Another choice of the entries of one part; where no rule draws any, a step of severity."""
    open_to = [gene for gene in parent.genes if space.entries.parts(gene.operator)]
    if not open_to:
        return _change_severity(space, parent, rng)
    gene = rng.choice(open_to)
    names = rng.choice(space.entries.parts(gene.operator))
    weights = {name: weight for name, weight in gene.entries if name not in names}
    weights |= space.entries.choose(names, rng)
    return _replace_gene(parent, gene, replace(gene, entries=tuple(sorted(weights.items()))))


def _add_gene(space: Space, parent: Candidate, rng: SeededRandom) -> Candidate:
    if len(parent.genes) == MOST:
        return _exchange_gene(space, parent, rng)
    return Candidate.of(parent.compose, [*parent.genes, space.gene(rng.choice(space.operators))])


def _drop_gene(space: Space, parent: Candidate, rng: SeededRandom) -> Candidate:
    if len(parent.genes) == 1:
        return _add_gene(space, parent, rng)
    gone = rng.choice(parent.genes)
    return Candidate.of(parent.compose, [gene for gene in parent.genes if gene is not gone])


def _exchange_gene(space: Space, parent: Candidate, rng: SeededRandom) -> Candidate:
    return _replace_gene(parent, rng.choice(parent.genes), space.gene(rng.choice(space.operators)))


def _recompose(space: Space, parent: Candidate, rng: SeededRandom) -> Candidate:
    """The other way to put the rules together, or another weight of one of them."""
    gene = rng.choice(parent.genes)
    if parent.compose == ONE_OF and rng.chance(0.5):
        return _replace_gene(parent, gene, replace(gene, weight=rng.choice(WEIGHTS)))
    return Candidate.of(ALL_OF if parent.compose == ONE_OF else ONE_OF, parent.genes)


STEPS: dict[Step, float] = {
    _change_severity: 4,
    _change_chance: 3,
    _change_schedule: 2,
    _change_options: 1,
    _change_entries: 3,
    _add_gene: 2,
    _drop_gene: 1,
    _exchange_gene: 1,
    _recompose: 1,
}
"""Each step with how often it is taken, relative to the others."""
