"""A vLLM that somebody else started: watched, given back its version when it returns, and confirmed."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from crosswind.policies.vllm import health as answering
from crosswind.policies.vllm.health import find_sampling_problems
from crosswind.policies.vllm.launch import NEUTRAL
from tests.gateway.servers import gateway
from tests.outage import Forwarder
from tests.policies.rollouts import record_fitness
from tests.vllm_server import Lines, VllmServed, supervised

pytestmark = pytest.mark.vllm


async def _until(lines: Lines, pattern: str) -> re.Match[str]:
    return await asyncio.to_thread(lines.until, pattern)


def test_settings_under_which_log_probabilities_say_something_else_are_named(
    vllm: VllmServed, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_sampling_problems(vllm.url) == []
    # As of a server that samples at 0.5 where a request doesn't say: to it, ours is the odd one.
    monkeypatch.setattr(answering, "NEUTRAL", NEUTRAL | {"temperature": 2.0})
    (trouble,) = find_sampling_problems(vllm.url)
    assert "a distribution that is cut or bent" in trouble and "--generation-config vllm" in trouble


async def test_a_server_that_comes_back_with_an_old_version_is_given_the_last_one(
    vllm: VllmServed, tmp_path: Path
) -> None:
    """Meanwhile nothing trains, and everybody is told so."""
    moved, last = vllm.registry.get("moved-1"), vllm.registry.get("moved-2")
    way = Forwarder(int(vllm.url.rpartition(":")[2]))
    url = f"http://127.0.0.1:{way.port}"
    async with gateway(tmp_path, vllm.url) as running:
        with supervised(str(moved.path), "--attach", url, "--control", running.control) as lines:
            await _until(lines, rf"^serving moved-1 at {re.escape(url)}/v1$")
            await _until(lines, r"^moved-1 is confirmed at .* \(within \S+ over \d+ tokens\)")
            assert await record_fitness(running) == "fit"
            vllm.engine.publish(last)
            await _until(lines, r"was given moved-2$")

            way.down()
            await _until(lines, r"answers no more; waiting for it to come back")
            await _until(lines, r"^capture for training is stopped: .* answers no more")
            stopped = (await running.api("GET", "/api/versions")).json()["capture_stopped"]
            assert stopped == f"version 'moved-2': {url} answers no more"
            assert await record_fitness(running) == "policy_mismatch"
            vllm.engine.publish(vllm.first)  # as a server that was restarted
            way.up()
            await _until(lines, rf"^serving moved-2 at {re.escape(url)}/v1 again$")
            await _until(lines, r"^moved-2 is confirmed at ")
            assert vllm.engine.health().version == "moved-2"
            assert await record_fitness(running) == "fit"
            assert (await running.api("GET", "/api/versions")).json()["capture_stopped"] is None
        way.down()
    assert lines.process.returncode == 0
    assert vllm.engine.health().version == "moved-2"
