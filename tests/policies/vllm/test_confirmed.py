"""Confirmed versions on real vLLM: scored while it works, and caught when it serves other weights."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from crosswind.policies.commands.policy import policy
from crosswind.policies.deployment.confirmation import confirm
from crosswind.policies.deployment.reference import probe
from crosswind.policies.versions.journal import GOOD
from tests.gateway.servers import gateway
from tests.policies.asking import chat, stream
from tests.policies.rollouts import record_fitness
from tests.vllm_server import VllmServed

pytestmark = pytest.mark.vllm


async def test_many_tokens_are_scored_together_while_streams_go_on(vllm: VllmServed) -> None:
    """What the trainer does after each swap. vLLM alone fails at it as soon as LoRA is enabled."""
    reference = probe(vllm.first)
    async with httpx.AsyncClient(timeout=300, trust_env=False) as http:
        asked = [chat(f"Where is #W{seed}?", max_tokens=60, ignore_eos=True, seed=seed) for seed in range(16)]
        streams = [asyncio.create_task(stream(http, vllm.url, body)) for body in asked]
        for _ in range(3):
            found = await asyncio.to_thread(confirm, vllm.engine, vllm.first.version, reference)
            assert found.difference.largest < 1e-4 and found.difference.tokens > 300
        read = await asyncio.gather(*streams)
    assert all(len(one.tokens) == 60 and one.finish == "length" for one in read)


async def test_seeds_are_exact_for_prompts_that_are_computed_in_several_steps(vllm: VllmServed) -> None:
    """More new prompt tokens at once than a step takes. vLLM alone fails at seeded ones on a CPU."""
    asked = [
        chat(" ".join(f"Where is #W{seed:02d}{place:02d}?" for place in range(60)), max_tokens=8, seed=seed)
        for seed in range(24)
    ]
    async with httpx.AsyncClient(timeout=300, trust_env=False) as http:
        alone = await stream(http, vllm.url, asked[0])
        vllm.engine.publish(vllm.registry.get("moved-1"))
        vllm.engine.publish(vllm.first)
        read = await asyncio.gather(*(stream(http, vllm.url, body) for body in asked))
    assert sum(len(one.prompt) for one in read) > 8192
    assert read[0].tokens == alone.tokens
    assert all(one.finish in ("length", "stop", "tool_calls") for one in read)


async def _policy(*arguments: str) -> tuple[int, str]:
    done = await asyncio.to_thread(CliRunner().invoke, policy, arguments)
    return done.exit_code, done.output


async def test_an_engine_that_serves_other_weights_is_caught_and_its_turns_never_train(
    vllm: VllmServed, tmp_path: Path
) -> None:
    registry, wanted = vllm.registry, vllm.registry.get("moved-1")
    registry.adopt(vllm.first)
    async with gateway(tmp_path, vllm.url, capture="on") as running:
        told = ("--engine", vllm.url, "--control", running.control)
        code, said = await _policy("publish", str(wanted.path), *told)
        assert code == 0 and "log-probabilities agree within" in said, said
        assert await record_fitness(running) == "fit"

        # Other weights under the same name, as by a bug of a swap.
        under = {"method": "crosswind_swap", "args": [str(registry.get("moved-2").path)]}
        swapped = await running.http.post(f"{vllm.url}/collective_rpc", json=under, timeout=60)
        assert swapped.status_code == 200
        code, said = await _policy("verify", str(wanted.path), *told)
        assert code == 1 and "differ from the trainer's" in said
        assert await record_fitness(running) == "policy_mismatch"

        code, said = await _policy("rollback", str(registry.root), *told)
        assert code == 0 and "retail serves, moved-1 is marked bad" in said, said
        assert await record_fitness(running) == "fit"
    assert vllm.engine.health().version == "retail"
    listed = await _policy("list", str(registry.root), "--json")
    rows = {row["version"]: row for row in map(json.loads, listed[1].splitlines())}
    assert rows["moved-1"]["bad"] and rows["retail"]["confirmed"] < 1e-4
    registry.journal.append(GOOD, "moved-1")
