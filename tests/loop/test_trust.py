"""Versions that can be trusted, over HTTP: a tampered engine stops the capture for training until it is set
right.
"""

from __future__ import annotations

import asyncio
from asyncio.subprocess import PIPE
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from click.testing import CliRunner

from crosswind.gateway.cli import root
from crosswind.gateway.trajectory.store import open_store
from crosswind.gateway.trajectory.trust import VERSION, untrusted_versions
from crosswind.policies.commands.policy import policy
from crosswind.policies.embedded.batch import BatchLimits
from crosswind.policies.embedded.server import make_server
from crosswind.policies.publishers.embedded import EmbeddedEngine
from crosswind.policies.versions.version import Registry, write_metadata
from crosswind.testing.replies import plain
from tests.gateway.engine import engine as scripted
from tests.gateway.servers import Running, gateway, upstream
from tests.gateway.sessions.peers import workers
from tests.loop.children import COMMAND, ENVIRONMENT, Children
from tests.policies.rollouts import BODY, HeldReply, record_fitness
from tests.serving import serve_in_thread

TOOL = {"type": "function", "function": {"name": "ping", "parameters": {"type": "object"}}}


@pytest.fixture
def served(registry: Registry) -> Iterator[tuple[str, uvicorn.Server]]:
    """An engine on a thread of its own, and its server, to tamper with what is inside."""
    server = make_server(registry.get("v1").path, seed=0, limits=BatchLimits(rows=4))
    with serve_in_thread(server) as url:
        yield url, server


async def _policy(*arguments: str) -> tuple[int, str]:
    """`crosswind policy`, on a thread beside the servers: its exit code and all that it said."""
    done = await asyncio.to_thread(CliRunner().invoke, policy, arguments)
    return done.exit_code, done.output


async def _metric(running: Running, name: str) -> float:
    (line,) = [
        line
        for line in (await running.api("GET", "/metrics")).text.splitlines()
        if line.startswith(f"crosswind_{name} ")
    ]
    return float(line.split()[-1])


async def test_a_tampered_engine_is_caught_and_its_turns_never_train(
    tmp_path: Path, registry: Registry, served: tuple[str, uvicorn.Server]
) -> None:
    url, server = served
    async with gateway(tmp_path, url, capture="on") as running:
        told = ("--engine", url, "--control", running.control)
        code, said = await _policy("publish", str(registry.root / "v2"), *told)
        assert code == 0, said
        assert await record_fitness(running) == "fit"

        app: Any = server.config.app
        app._worker._batch.checkpoint.layers[0].down.mul_(1.02)
        code, said = await _policy("verify", str(registry.root / "v2"), *told)
        assert code == 1 and "it serves other weights" in said
        assert await record_fitness(running) == "policy_mismatch"
        standing = (await running.api("GET", "/api/versions")).json()
        assert "'v2': the engine's log-probabilities differ" in standing["capture_stopped"]
        assert await _metric(running, "capture_stopped") == await _metric(running, "versions_doubted") == 1

        code, said = await _policy("rollback", str(registry.root), *told)
        assert code == 0 and "v1 serves" in said, said
        assert await record_fitness(running) == "fit"
        assert (await running.api("GET", "/api/versions")).json()["capture_stopped"] is None
        assert (await _metric(running, "capture_stopped"), await _metric(running, "versions_doubted")) == (
            0,
            1,
        )
    with EmbeddedEngine(url) as engine:
        assert engine.health().version == "v1"
    store = open_store(f"sqlite:///{tmp_path}/store.db")
    assert untrusted_versions(store.settings(VERSION)) == {"v2"}
    store.close()


async def test_verify_can_take_the_engine_back_by_itself(
    tmp_path: Path, registry: Registry, served: tuple[str, uvicorn.Server]
) -> None:
    url, server = served
    with EmbeddedEngine(url) as engine:
        engine.publish(registry.get("v2"))
        app: Any = server.config.app
        app._worker._batch.checkpoint.norm.mul_(1.02)
        code, said = await _policy("verify", str(registry.root / "v2"), "--engine", url, "--rollback")
        assert code == 1 and "rolled back to 'v1'" in said
        assert engine.health().version == "v1"
    down = ("--engine", url, "--control", "http://127.0.0.1:9")
    code, said = await _policy("verify", str(registry.root / "v1"), *down)
    assert code == 0 and "the gateway can't be told about version 'v1'" in said


async def test_what_no_version_is_known_of_is_unfit_while_the_capture_stands_still(tmp_path: Path) -> None:
    """An engine that doesn't say which version sampled what; a restart in between."""
    async with upstream(scripted(choice={"weight_versions": None})) as app:
        async with gateway(tmp_path, app) as running:
            assert await record_fitness(running) == "fit"
            refused = await running.api("PUT", "/api/versions/v1", {"trusted": "perhaps"})
            assert refused.status_code == 400
            said = await running.api("PUT", "/api/versions/v1", {"trusted": False, "reason": "why"})
            assert said.status_code == 200
            assert await record_fitness(running) == "policy_mismatch"
        async with gateway(tmp_path, app) as running:
            assert await record_fitness(running) == "policy_mismatch"
            await running.api("PUT", "/api/versions/v0", {"trusted": True})
            assert await record_fitness(running) == "fit"


async def test_a_turn_that_began_while_the_capture_stood_still_is_unfit(tmp_path: Path) -> None:
    held = HeldReply(scripted(choice={"weight_versions": None}))
    async with upstream(held) as app, gateway(tmp_path, app) as running:
        await running.api("PUT", "/api/versions/v1", {"trusted": False})
        turn = asyncio.create_task(record_fitness(running))
        await held.asked.wait()
        await running.api("PUT", "/api/versions/v0", {"trusted": True})
        held.go_on.set()
        assert await turn == "policy_mismatch"


async def test_a_publisher_tells_of_a_swap_before_it_begins(
    tmp_path: Path, registry: Registry, served: tuple[str, uvicorn.Server]
) -> None:
    """And takes it back where the engine refuses."""
    url, _ = served
    async with gateway(tmp_path, url, capture="on") as running:
        told = ("--engine", url, "--control", running.control)
        code, said = await _policy("publish", str(registry.root / "v2"), *told, "--no-confirm")
        assert code == 0, said
        assert running.gateway.trust.swapping == {"v2"}
        (registry.root / "v1" / "config.json").write_text("{}")
        spoilt = write_metadata(registry.get("v1"))
        code, said = await _policy("publish", str(spoilt.path), *told, "--no-confirm")
        assert code == 1, said
        # What was never confirmed still isn't.
        assert running.gateway.trust.swapping == {"v2"}
        # An engine that names its versions needs none of it.
        assert await record_fitness(running) == "fit"


async def test_a_restarted_worker_knows_what_is_doubted(tmp_path: Path) -> None:
    async with upstream(scripted()) as app:
        async with workers(tmp_path, app) as (one, _):
            assert await record_fitness(one) == "fit"
            await one.api("PUT", "/api/versions/v2", {"trusted": False, "reason": "why"})
        async with workers(tmp_path, app) as (one, other):
            assert [await record_fitness(one), await record_fitness(other)] == ["policy_mismatch"] * 2


async def test_every_worker_is_told(tmp_path: Path, children: Children) -> None:
    """Two processes that serve, and a third one that is told."""
    async with upstream(scripted()) as app, httpx.AsyncClient(trust_env=False, timeout=60) as http:
        options = ("--capture", "on", "--workers", "2")
        running = await asyncio.to_thread(children.gateway, app.url, tmp_path / "store.db", *options)
        wrong = {"trusted": False, "reason": "why"}
        assert (await http.put(f"{running.control}/api/versions/v2", json=wrong)).status_code == 200
        for index in range(6):
            body = {"group_id": f"g{index}", "group_size": 2, "rollout_index": 0}
            opened = (await http.post(f"{running.control}/api/sessions", json=body)).json()
            # A connection of its own each: the workers take turns at them.
            async with httpx.AsyncClient(trust_env=False, timeout=60) as agent:
                answer = await agent.post(f"{opened['base_url']}/chat/completions", json=BODY)
            assert answer.status_code == 200
            found = (await http.get(f"{running.control}/api/sessions/{opened['id']}/trajectory")).json()
            assert [turn["fitness"] for turn in found["turns"]] == ["policy_mismatch"]
        metrics = (await http.get(f"{running.control}/metrics")).text.splitlines()
        # Of all processes together, not a sum of them.
        assert {"crosswind_capture_stopped 1.0", "crosswind_versions_doubted 1.0"} <= set(metrics)


async def test_the_doctor_tells_what_can_be_trained_on(
    tmp_path: Path, served: tuple[str, uvicorn.Server]
) -> None:
    url, _ = served
    store = f"sqlite:///{tmp_path}/store.db"
    async with gateway(tmp_path, url, capture="on") as running:
        assert await record_fitness(running) == "fit"
        await running.api("PUT", "/api/versions/v9", {"trusted": False, "reason": "it differs"})
        session = (await running.api("POST", "/api/sessions", {})).json()["id"]
        await running.chat(BODY | {"parallel_tool_calls": False, "tools": [TOOL]}, session)
    doctor = ["doctor", "--check", "--port", "0", "--control-port", "0"]
    said = CliRunner().invoke(root, [*doctor, "--upstream", f"{url}/v1", "--store", store])
    assert said.exit_code == 1, said.output
    assert "an engine that can be trained on (crosswind)" in said.output
    assert "✗ store: capture for training is stopped: version 'v9': it differs" in said.output
    assert "unfit for training: constrained_sampling (a grammar or a mask" in said.output
    async with upstream(plain({"data": [{"id": "m", "owned_by": "system"}]})) as app:
        arguments = [*doctor, "--upstream", f"{app.url}/v1", "--store", f"{store}.none"]
        said = await asyncio.to_thread(CliRunner().invoke, root, arguments)
        assert said.exit_code == 0, said.output
        assert "✓ upstream default: " in said.output
        assert "a hosted model: it gives no token ids" in said.output
        trained = ["train", "run", "--policy", "retail", "--out", str(tmp_path), "--engine", app.url]
        process = await asyncio.create_subprocess_exec(
            *COMMAND, *trained, cwd=tmp_path, stdout=PIPE, stderr=PIPE, env=ENVIRONMENT
        )
        _, complaint = await process.communicate()
        assert process.returncode == 2 and b"its weights can't be set" in complaint
