"""user.boundary_probing: slightly past the rules or past what can be known, and a refusal is accepted."""

from __future__ import annotations

from crosswind.injectors import registry
from crosswind.injectors.operators.words.asides import PROBES, YIELDS
from tests.injectors.operators.user.acting import BAGGAGE, shown, user_target


def test_the_papers_code_is_its_alias() -> None:
    assert registry.resolve("boundary").name == "user.boundary_probing"


def test_the_worked_example_in_kind() -> None:
    kinds = set()
    for after in shown("user.boundary_probing", user_target(BAGGAGE), 1.0):
        assert after.startswith(BAGGAGE)
        added = after[len(BAGGAGE) :]
        (kind,) = (name for name, ending in YIELDS.items() if added.endswith(ending))
        assert sum(probe in added for probe in PROBES[kind]) == 2
        kinds.add(kind)
    assert kinds == {"policy", "knowledge"}


def test_severity_counts_the_probes() -> None:
    seen = shown("user.boundary_probing", user_target(BAGGAGE), 0.5, seeds=400)
    probes = [probe for kind in PROBES.values() for probe in kind]
    assert 350 < sum(probe in after for after in seen for probe in probes) < 450
