"""How candidates come from others: small steps, exchanged rules, and less of what was too much."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from crosswind.injectors.streams import Stream
from crosswind.studies.evolve.space import (
    ALL_OF,
    CHANCES,
    MOST,
    ONE_OF,
    SCHEDULES,
    SEVERITIES,
    WEIGHTS,
    Candidate,
    Gene,
    Space,
)

LONGEST_STEP = 5
"""Of a severity, in places of SEVERITIES."""

Step = Callable[[Space, Candidate, Stream], Candidate]


def mutated(space: Space, parent: Candidate, rng: Stream) -> Candidate:
    """The parent with one or two small steps."""
    child = parent
    for _ in range(rng.integer(1, 2)):
        child = rng.weighted(list(STEPS), [STEPS[step] for step in STEPS])(space, child, rng)
    return child


def crossed(one: Candidate, other: Candidate, rng: Stream) -> Candidate:
    """Rules of both parents, each with an even chance; at least one."""
    genes = [*one.genes, *other.genes]
    kept = [gene for gene in genes if rng.chance(0.5)] or [rng.choice(genes)]
    return Candidate.of(rng.choice((one.compose, other.compose)), kept)


def thinned(parent: Candidate, factor: float) -> Candidate:
    """The parent acting more rarely: every rule's chance times the factor, rounded down to CHANCES."""

    def rarer(gene: Gene) -> Gene:
        below = [chance for chance in CHANCES if chance <= gene.chance * factor]
        return replace(gene, chance=max(below, default=CHANCES[-1]))

    return Candidate.of(parent.compose, map(rarer, parent.genes))


def weakened(parent: Candidate, factor: float) -> Candidate:
    """The parent acting as often and less hard: every severity times the factor, rounded down."""

    def weaker(gene: Gene) -> Gene:
        below = [severity for severity in SEVERITIES if severity <= gene.severity * factor]
        return replace(gene, severity=max(below, default=SEVERITIES[0]))

    return Candidate.of(parent.compose, map(weaker, parent.genes))


def _with(parent: Candidate, gene: Gene, instead: Gene) -> Candidate:
    return Candidate.of(parent.compose, [instead if one is gene else one for one in parent.genes])


def _severity(space: Space, parent: Candidate, rng: Stream) -> Candidate:
    gene = rng.choice(parent.genes)
    step = rng.integer(1, LONGEST_STEP) * (1 if rng.chance(0.5) else -1)
    at = min(len(SEVERITIES) - 1, max(0, SEVERITIES.index(gene.severity) + step))
    return _with(parent, gene, replace(gene, severity=SEVERITIES[at]))


def _chance(space: Space, parent: Candidate, rng: Stream) -> Candidate:
    gene = rng.choice(parent.genes)
    return _with(parent, gene, replace(gene, chance=rng.choice(CHANCES)))


def _schedule(space: Space, parent: Candidate, rng: Stream) -> Candidate:
    gene = rng.choice(parent.genes)
    return _with(parent, gene, replace(gene, schedule=rng.integer(0, len(SCHEDULES) - 1)))


def _options(space: Space, parent: Candidate, rng: Stream) -> Candidate:
    """Another value of an option; where no rule has one to choose, a step of severity."""
    open_to = [gene for gene in parent.genes if space.choices(gene.operator)]
    if not open_to:
        return _severity(space, parent, rng)
    gene = rng.choice(open_to)
    name, values = rng.choice(list(space.choices(gene.operator).items()))
    options = {**dict(gene.options), name: rng.choice(values)}
    return _with(parent, gene, replace(gene, options=tuple(sorted(options.items()))))


def _added(space: Space, parent: Candidate, rng: Stream) -> Candidate:
    if len(parent.genes) == MOST:
        return _replaced(space, parent, rng)
    return Candidate.of(parent.compose, [*parent.genes, space.gene(rng.choice(space.operators))])


def _dropped(space: Space, parent: Candidate, rng: Stream) -> Candidate:
    if len(parent.genes) == 1:
        return _added(space, parent, rng)
    gone = rng.choice(parent.genes)
    return Candidate.of(parent.compose, [gene for gene in parent.genes if gene is not gone])


def _replaced(space: Space, parent: Candidate, rng: Stream) -> Candidate:
    return _with(parent, rng.choice(parent.genes), space.gene(rng.choice(space.operators)))


def _composed(space: Space, parent: Candidate, rng: Stream) -> Candidate:
    """The other way to put the rules together, or another weight of one of them."""
    gene = rng.choice(parent.genes)
    if parent.compose == ONE_OF and rng.chance(0.5):
        return _with(parent, gene, replace(gene, weight=rng.choice(WEIGHTS)))
    return Candidate.of(ALL_OF if parent.compose == ONE_OF else ONE_OF, parent.genes)


STEPS: dict[Step, float] = {
    _severity: 4,
    _chance: 3,
    _schedule: 2,
    _options: 1,
    _added: 2,
    _dropped: 1,
    _replaced: 1,
    _composed: 1,
}
"""Each step with how often it is taken, relative to the others."""
