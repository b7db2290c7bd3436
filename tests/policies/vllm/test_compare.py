"""`crosswind policy compare --evaluate-with`: two versions played one after the other by one real vLLM."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from crosswind.policies.commands.policy import policy
from tests.gateway.servers import gateway
from tests.vllm_server import VllmServed

pytestmark = pytest.mark.vllm

TASKS = 6


async def _compare(vllm: VllmServed, evaluation: str, out: Path) -> Result:
    arguments = ["compare", "retail", "moved-1", "--versions", str(vllm.registry.root)]
    arguments += ["--engine", vllm.url, "--evaluate-with", evaluation, "--out", str(out)]
    return await asyncio.to_thread(CliRunner().invoke, policy, arguments)


async def test_success_of_both_is_measured_and_what_served_serves_again(
    vllm: VllmServed, tmp_path: Path
) -> None:
    vllm.engine.publish(vllm.registry.get("moved-2"))
    async with gateway(tmp_path, vllm.url, capture="on") as running:
        evaluation = f"--control {running.control} --environment retail --tasks {TASKS} --seed 4"
        done = await _compare(vllm, evaluation, tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert "success   clean: " in done.output and "KL(A || B)" in done.output
    clean = json.loads((tmp_path / "out" / "retail-moved-1.json").read_text())["arms"]["clean"]
    assert clean["n"] == TASKS and clean["low"] <= clean["difference"] <= clean["high"]
    # A shipped policy solves tasks; noise in its weights doesn't help.
    assert clean["before"] > 0.5 and clean["after"] <= clean["before"]
    for name in ("retail", "moved-1"):
        played = json.loads((tmp_path / "out" / f"{name}.json").read_text())
        assert (played["policy_version"], played["tasks"]) == (name, TASKS)
    assert vllm.engine.health().version == "moved-2"


async def test_an_evaluation_that_cant_be_played_leaves_the_engine_as_it_was(
    vllm: VllmServed, tmp_path: Path
) -> None:
    done = await _compare(vllm, "--control http://127.0.0.1:9 --environment retail", tmp_path)
    assert done.exit_code == 1
    assert "`crosswind bench` ended with exit code" in done.output
    assert vllm.engine.health().version == "retail"
