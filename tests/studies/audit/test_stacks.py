"""The audit reads errors and cuts in the formats of real systems as the guard does."""

from __future__ import annotations

import pytest

from crosswind.injectors import registry
from crosswind.injectors.guard import solvability
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Half
from crosswind.studies.audit import values
from tests.injectors.operators.tool.test_errors import CASES, target


@pytest.mark.parametrize("operator", ["tool.execution_failure", "tool.incomplete"])
@pytest.mark.parametrize("case", CASES)
def test_what_the_guard_lets_pass_shows_the_audit_that_it_is_wrong(case: str, operator: str) -> None:
    entry = registry.resolve(operator)
    for half in Half:
        for seed in range(60):
            of = target(case, f"{seed}", half)
            draw = entry.draw({}, of, SeededRandom(f"{seed}"), 1.0)
            if draw is None:
                continue
            after = str(entry.apply(of, draw).payload)
            assert solvability.check_tool_result(entry, of, after, clean=of.text) is None
            assert values.shows_that_it_is_wrong(of.text, after, of.text), after
