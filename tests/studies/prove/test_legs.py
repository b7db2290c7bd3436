"""Solvability over the tool legs, in small: calls travel through a real gateway to a real server of tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from crosswind.simulators.environment import load
from crosswind.simulators.tool_legs.leg import Leg
from crosswind.studies.prove.cases import Catalogue, cases_alone, cases_as_written
from crosswind.studies.prove.command import prove
from crosswind.studies.prove.episodes import HeldOutTasks, run
from crosswind.studies.prove.proof import TOOK_PLACE, Proof

RETAIL = load("retail")
PROFILES = ["agentnoisebench/tool", "robustbench-tc/Timeout", "chaos/provider-outage"]
OPERATORS = ["tool.incomplete", "transport.reset", "transport.duplicated_delivery", "schema.paraphrase_*"]


SAMPLE = {Leg.MCP: 2, Leg.STDIO: 1, Leg.HTTP: 2}
"""Tasks for each case; over stdio each starts two processes."""


def proof_over(leg: Leg, *, recovers: bool = True) -> Proof:
    operators = OPERATORS if leg is not Leg.STDIO else OPERATORS[-2:]

    def plan(catalogue: Catalogue) -> Any:
        cases = [
            *cases_as_written(catalogue, PROFILES),
            *cases_alone(catalogue, operators, RETAIL.repeatable),
        ]
        return HeldOutTasks(RETAIL, 3).assign_next(cases, SAMPLE[leg]), Proof(catalogue)

    proof, _ = run(RETAIL, plan, seed=3, recovers=recovers, concurrency=16, store=None, leg=leg)
    return proof


@pytest.mark.parametrize("leg", SAMPLE)
def test_the_oracle_solves_tasks_whose_tools_are_perturbed_on_the_wire(leg: Leg) -> None:
    proof = proof_over(leg)
    assert [*proof.find_problems()] == []
    assert {name for name, _, _ in proof.profiles} == set(PROFILES)
    assert all(row.fates[TOOK_PLACE] for row in proof.profiles.values())
    schemas = {name for name, _ in proof.operators if name.startswith("schema.")}
    assert bool(schemas) is (leg is not Leg.HTTP), "an API lists no tools"


def test_an_agent_that_believes_what_it_meets_is_told_of() -> None:
    told = [*proof_over(Leg.MCP, recovers=False).find_problems()]
    assert any(one.startswith("unsolved: robustbench-tc/Timeout") for one in told)


def test_noise_that_acts_elsewhere_is_refused_by_name() -> None:
    done = CliRunner().invoke(prove, ["--leg", "http", "--operators", "user.typos"])
    assert done.exit_code == 2
    assert "--operators: 'user.typos' matches none" in done.output


@pytest.mark.slow
@pytest.mark.parametrize("leg", ["mcp", "stdio", "http"])
def test_the_whole_proof_over_a_tool_leg(leg: str) -> None:
    tasks, at_once = ("2 0 1", "8") if leg == "stdio" else ("6 2 3", "64")
    given = ["--leg", leg, "--tasks", *tasks.split(), "--concurrency", at_once]
    done = CliRunner().invoke(prove, given)
    assert done.exit_code == 0, done.output


def test_the_page_says_the_leg(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    given = ["--leg", "mcp", "--profiles", "robustbench-tc/Timeout", "--tasks", "1", "0", "0"]
    assert CliRunner().invoke(prove, [*given, "--out", str(page)]).exit_code == 0
    text = page.read_text()
    assert "An MCP server provides the tools" in text
    assert "| `robustbench-tc/Timeout` | 1/1 | 1 |" in text
