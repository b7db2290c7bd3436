"""Whatever steps lead to a candidate, it is a sound profile."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.injectors.packs.load import load_all
from crosswind.injectors.profiles import load as profile
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.studies.evolve.candidates import (
    ALL_OF,
    MOST,
    Candidate,
    Space,
    cross,
    mutate,
)
from crosswind.studies.evolve.entries import EntryPool
from crosswind.studies.evolve.frozen import write_profile

CHAT = [
    f"{pack.name}#{entry.id}"
    for pack in load_all()
    for entry in pack.entries
    if pack.name == "en/general" and (entry.operator, entry.part) == ("user.redundant", "chat")
]
ENTRIES = EntryPool({"user.redundant": (tuple(CHAT[:8]),)})
SPACE = Space.of(["*"], 0.7, entries=ENTRIES)
AGAINST = profile.load("agentnoisebench/all")


def walked(seed: int, steps: int) -> Candidate:
    """What so many draws of the seed make of a single operator."""
    rng = SeededRandom(f"walk|{seed}")
    found = Candidate.of(ALL_OF, [SPACE.gene(rng.choice(SPACE.operators))])
    for _ in range(steps):
        other = Candidate.of(ALL_OF, [SPACE.gene(rng.choice(SPACE.operators))])
        found = cross(found, other, rng) if rng.chance(0.3) else mutate(SPACE, found, rng)
    return found


walks = st.builds(walked, st.integers(0, 10_000), st.integers(0, 25))


@settings(max_examples=80, deadline=None)
@given(candidate=walks)
def test_every_candidate_is_a_sound_profile_that_says_what_it_is(candidate: Candidate) -> None:
    assert 1 <= len(candidate.genes) <= MOST
    known = profile.parse(write_profile("evolved", 3, candidate, AGAINST, "Found."), "evolved")
    assert (known.version, known.bounds, known.assume_tools) == (3, AGAINST.bounds, AGAINST.assume_tools)
    assert [rule.operator for rule in known.rules] == [gene.operator for gene in candidate.genes]
    assert [rule.severity for rule in known.rules] == [gene.severity for gene in candidate.genes]
    assert [rule.when.probability for rule in known.rules] == [gene.chance for gene in candidate.genes]


def test_options_with_a_few_values_are_open_to_the_search() -> None:
    assert SPACE.choices("user.boundary_probing") == {"target": ("policy", "knowledge")}
    assert SPACE.choices("user.typos") == {}
    seen = set()
    for seed in range(200):
        child = mutate(
            SPACE, Candidate.of(ALL_OF, [SPACE.gene("user.boundary_probing")]), SeededRandom(str(seed))
        )
        seen |= {dict(gene.options).get("target", "unset") for gene in child.genes}
    assert {"policy", "knowledge"} <= seen


def test_entries_are_open_to_the_search() -> None:
    chosen = set()
    for seed in range(60):
        child = mutate(SPACE, Candidate.of(ALL_OF, [SPACE.gene("user.redundant")]), SeededRandom(str(seed)))
        chosen |= {gene.entries for gene in child.genes}
        known = profile.parse(write_profile("evolved", 1, child, AGAINST, "Found."), "evolved")
        assert [tuple(sorted(rule.entries.items())) for rule in known.rules] == [
            gene.entries for gene in child.genes
        ]
    assert len(chosen) > 3


def test_links_and_answers_are_not_searched() -> None:
    assert {name.partition(".")[0] for name in SPACE.operators} == {"user", "tool", "schema", "state"}
