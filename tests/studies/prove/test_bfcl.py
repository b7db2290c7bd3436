"""BFCL's gold agent solves under noise what it solves without, on the model's leg and over MCP."""

from __future__ import annotations

from typing import Any

import pytest
from click.testing import CliRunner

from crosswind.simulators.tool_legs.leg import Leg
from crosswind.studies.prove.cases import Catalogue, cases_as_written
from crosswind.studies.prove.command import prove
from crosswind.studies.prove.episodes import HeldOutTasks, run
from crosswind.studies.prove.proof import TOOK_PLACE, Proof
from tests.simulators.bfcl_package import need_bfcl

SAMPLE = {
    Leg.MODEL: ["agentnoisebench/all", "chaos/flaky-tools", "everything", "robustbench-tc/observation"],
    Leg.MCP: ["agentnoisebench/failure", "chaos/provider-outage", "robustbench-tc/transition", "everything"],
}

EACH = 3
"""Tasks under each profile of the sample. Some may be left out, since BFCL's checkers refuse them clean."""


@pytest.mark.parametrize("leg", SAMPLE)
def test_the_gold_agent_solves_a_sample_under_noise(leg: Leg) -> None:
    environment = need_bfcl()
    held_out = HeldOutTasks(environment, 0)

    def plan(catalogue: Catalogue) -> Any:
        return held_out.assign_next(cases_as_written(catalogue, SAMPLE[leg]), EACH), Proof(catalogue)

    proof, _ = run(
        environment,
        plan,
        seed=0,
        recovers=True,
        concurrency=16,
        store=None,
        leg=leg,
        further=lambda proof: held_out.assign_next(proof.find_idle_cases(), EACH),
    )
    assert [*proof.find_problems()] == []
    assert proof.played >= EACH * len(SAMPLE[leg]) - 2
    assert all(row.fates[TOOK_PLACE] for row in proof.profiles.values())


def test_tools_that_differ_by_task_are_no_http_api() -> None:
    need_bfcl()
    done = CliRunner().invoke(prove, ["--environment", "bfcl", "--leg", "http"])
    assert done.exit_code == 2 and "use mcp" in done.output


@pytest.mark.slow
@pytest.mark.parametrize("leg", ["model", "mcp"])
def test_the_gold_agent_solves_tasks_under_every_profile(leg: str) -> None:
    need_bfcl()
    done = CliRunner().invoke(prove, ["--environment", "bfcl", "--leg", leg, "--tasks", "8", "0", "0"])
    assert done.exit_code == 0, done.output
