"""Several servers of one policy: one that goes away, or serves other weights, costs its own turns alone."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from crosswind.gateway.cli import root
from crosswind.gateway.trajectory.store import open_store
from crosswind.gateway.trajectory.trust import VERSION, untrusted_versions
from crosswind.policies.commands.policy import policy
from crosswind.policies.versions.version import Registry
from crosswind.testing import ScriptedProvider
from tests.gateway.engine import engine as scripted
from tests.gateway.servers import Running, gateway, upstream
from tests.gateway.sessions.peers import workers
from tests.outage import Forwarder
from tests.policies.rollouts import HeldReply, open_rollout, record_fitness
from tests.policies.vllm.embedded_as_vllm import serving_as_vllm
from tests.vllm_server import Lines, supervised

NAMED = scripted(choice={"weight_versions": [{"version": "v1", "start": 0, "end": 3}]})
AWAY = {"trusted": False, "away": True, "reason": "it answers no more"}


def pool(*urls: str) -> dict[str, Any]:
    """Settings of a gateway with these servers as replicas."""
    entry = {"name": "pool", "replicas": [f"{url}/v1" for url in urls]}
    return {"upstream": None, "upstreams": [entry], "capture": "on"}


async def _session(running: Running, goes_to: Callable[[str], bool]) -> str:
    """A new rollout whose replica is the one wanted: they spread, so one comes soon."""
    (known,) = running.gateway.upstreams
    for number in range(1000):
        session = await open_rollout(running, group_id=f"g{number}")
        if goes_to(known.replicas.order(session)[0].base):
            return session
    raise AssertionError("no session goes there")


async def _fitness(running: Running, url: str) -> str:
    """Of a turn that this server samples."""
    return await record_fitness(running, await _session(running, lambda base: base == f"{url}/v1"))


async def _standing(running: Running) -> dict[str, Any]:
    return dict((await running.api("GET", "/api/versions")).json())


async def _tell(running: Running, said: dict[str, Any], *engines: str) -> None:
    answer = await running.api("PUT", "/api/versions/v1", said | {"engines": engines})
    assert answer.status_code == 200, answer.text


async def test_a_server_that_went_away_costs_its_own_turns_alone(tmp_path: Path) -> None:
    """Until it is confirmed itself, over a restart of the gateway, and whatever the others are."""
    async with upstream(NAMED) as one, upstream(NAMED) as two:
        async with gateway(tmp_path, one, **pool(one.url, two.url)) as running:
            await _tell(running, AWAY, f"{one.url}/v1")
            assert await _fitness(running, one.url) == "policy_mismatch"
            assert await _fitness(running, two.url) == "fit"
            standing = await _standing(running)
            assert standing["capture_stopped"] is None and standing["versions"] == {}
            assert standing["servers"][one.url]["reason"] == "it answers no more"
            metrics = (await running.api("GET", "/metrics")).text
            assert "crosswind_servers_doubted 1.0" in metrics and "crosswind_capture_stopped 0.0" in metrics
        async with gateway(tmp_path, one, **pool(one.url, two.url)) as running:
            await _tell(running, {"trusted": True}, two.url)
            assert await _fitness(running, one.url) == "policy_mismatch"
            told = CliRunner().invoke(root, _doctor(tmp_path, one)).output
            assert f"stopped for what {one.url} samples: it answers no more" in told
            await _tell(running, {"trusted": True}, one.url.replace("127.0.0.1", "localhost"))
            assert await _fitness(running, one.url) == "fit"
            assert (await _standing(running))["servers"] == {}
    store = open_store(f"sqlite:///{tmp_path}/store.db")
    assert untrusted_versions(store.settings(VERSION)) == set()
    store.close()


def _doctor(folder: Path, at: ScriptedProvider) -> list[str]:
    dead = at.url.rpartition(":")[0] + ":9"
    return ["doctor", "--check", "--upstream", f"{dead}/v1", "--store", f"sqlite:///{folder}/store.db"]


async def test_a_server_seen_to_serve_other_weights_is_not_cleared_by_another_ones_confirmation(
    tmp_path: Path,
) -> None:
    async with (
        upstream(NAMED) as one,
        upstream(NAMED) as two,
        gateway(tmp_path, one, **pool(one.url, two.url)) as running,
    ):
        await _tell(running, {"trusted": False, "reason": "it differs"}, one.url)
        assert [await _fitness(running, url.url) for url in (one, two)] == ["policy_mismatch"] * 2
        await _tell(running, {"trusted": True}, two.url)
        assert await _fitness(running, one.url) == "policy_mismatch"
        assert await _fitness(running, two.url) == "fit"
        # Who names no server speaks of all.
        await _tell(running, {"trusted": True})
        assert await _fitness(running, one.url) == "fit"


async def test_servers_that_the_gateway_cant_tell_apart_are_doubted_together(tmp_path: Path) -> None:
    async with upstream(NAMED) as one, upstream(NAMED) as two:
        async with gateway(tmp_path, one, **pool(one.url, two.url)) as running:
            # A balancer's address, it may be, or another name of either.
            await _tell(running, AWAY, "http://10.0.0.5:8000")
            assert [await _fitness(running, url.url) for url in (one, two)] == ["policy_mismatch"] * 2
            await _tell(running, {"trusted": True}, "http://10.0.0.5:8000")
            assert await _fitness(running, one.url) == "fit"
            wrong = await running.api("PUT", "/api/versions/v1", AWAY | {"engines": ["nowhere"]})
            assert wrong.status_code == 400 and "give it as http://host:port" in wrong.text
        folder = tmp_path / "alone"
        folder.mkdir()
        async with gateway(folder, one, capture="on") as running:
            await _tell(running, AWAY, one.url)
            assert (await _standing(running))["capture_stopped"] == "version 'v1': it answers no more"
            await _tell(running, {"trusted": True}, one.url)
            assert await _fitness(running, one.url) == "fit"


async def test_a_turn_that_a_doubted_server_began_is_unfit(tmp_path: Path) -> None:
    """Also where that is confirmed before the turn ends, and where the engine names no versions."""
    reply = scripted(choice={"weight_versions": None})
    held = HeldReply(reply)
    async with (
        upstream(held) as one,
        upstream(reply) as two,
        gateway(tmp_path, one, **pool(one.url, two.url)) as running,
    ):
        await _tell(running, {"trusted": True})
        await _tell(running, AWAY, one.url)
        turn = asyncio.create_task(_fitness(running, one.url))
        await held.asked.wait()
        await _tell(running, {"trusted": True}, one.url)
        held.go_on.set()
        assert await turn == "policy_mismatch"
        assert [await _fitness(running, url.url) for url in (one, two)] == ["fit"] * 2


async def test_every_worker_hears_of_a_server(tmp_path: Path) -> None:
    async with upstream(NAMED) as one, upstream(NAMED) as two:
        async with gateway(tmp_path, one, **pool(one.url, two.url)) as running:
            await _tell(running, AWAY, one.url)
        async with workers(tmp_path, one, **pool(one.url, two.url)) as both:
            for worker in both:
                assert await _fitness(worker, one.url) == "policy_mismatch"
                assert await _fitness(worker, two.url) == "fit"


async def _until(lines: Lines, pattern: str) -> None:
    await asyncio.to_thread(lines.until, pattern)


async def test_a_version_is_published_while_one_of_two_servers_is_away(
    tmp_path: Path, registry: Registry
) -> None:
    """What that one samples when it is back is not trained on until it is published to itself."""
    first, second = registry.get("v1").path, str(registry.get("v2").path)
    with serving_as_vllm(first) as inner, serving_as_vllm(first) as other:
        way = Forwarder(inner)
        one, two = f"http://127.0.0.1:{way.port}", f"http://127.0.0.1:{other}"
        async with gateway(tmp_path, one, **pool(one, two)) as running:
            assert [await _fitness(running, url) for url in (one, two)] == ["fit"] * 2
            way.down()
            given = ["publish", second, "--engine", f"{one},{two}", "--control", running.control]
            done = await asyncio.to_thread(CliRunner().invoke, policy, given)
            assert done.exit_code == 0, done.output
            assert "v2 serves" in done.output and "v2 is confirmed without it: " in done.output
            assert await _fitness(running, two) == "fit"
            way.up()
            assert await _fitness(running, one) == "policy_mismatch"
            done = await asyncio.to_thread(CliRunner().invoke, policy, given)
            assert done.exit_code == 0 and "without it" not in done.output, done.output
            assert [await _fitness(running, url) for url in (one, two)] == ["fit"] * 2
        way.down()


async def _each(lines: Lines, *patterns: str) -> None:
    """In whatever order."""
    left = list(patterns)
    while left:
        found = await asyncio.to_thread(lines.until, "|".join(left))
        left = [pattern for pattern in left if not re.search(pattern, found.string)]


async def test_a_server_that_hangs_keeps_nobody_from_looking_after_the_other(registry: Registry) -> None:
    """From the start, and the other goes and comes back meanwhile."""
    first = registry.get("v1").path
    with serving_as_vllm(first) as inner, socket.create_server(("127.0.0.1", 0)) as deaf:
        way = Forwarder(inner)
        one, hangs = f"http://127.0.0.1:{way.port}", f"http://127.0.0.1:{deaf.getsockname()[1]}"
        with supervised(str(first), "--attach", hangs, "--attach", one) as lines:
            await _until(lines, rf"^serving v1 at {re.escape(one)}/v1$")
            way.down()
            await _until(lines, rf"^{re.escape(one)} answers no more")
            way.up()
            await _until(lines, rf"^serving v1 at {re.escape(one)}/v1 again$")
        assert lines.process.returncode == 0, json.dumps(lines.said)
        assert not any("attached to " + hangs in line for line in lines.said)
        way.down()


async def test_of_two_attached_servers_one_goes_and_comes_back(tmp_path: Path, registry: Registry) -> None:
    """It refuses its version at first: it is given that again, and the other is watched all the while."""
    first, second = registry.get("v1").path, registry.get("v2").path
    with serving_as_vllm(first) as inner, serving_as_vllm(first) as other, serving_as_vllm(second) as new:
        way = Forwarder(inner)
        one, two = f"http://127.0.0.1:{way.port}", f"http://127.0.0.1:{other}"
        async with gateway(tmp_path, one, **pool(one, two)) as running:
            attach = ("--attach", one, "--attach", f"{two}/v1", "--control", running.control)
            with supervised(str(first), *attach) as lines:
                await _each(lines, *(rf"^v1 is confirmed at {re.escape(url)} " for url in (one, two)))
                assert [await _fitness(running, url) for url in (one, two)] == ["fit"] * 2

                way.down()
                await _until(lines, r"^capture for training is stopped: .* answers no more")
                assert await _fitness(running, two) == "fit"
                # It comes back with another version, and can't be given its own at once.
                hidden = first.rename(first.with_name("hidden"))
                way.to = new
                way.up()
                await _until(lines, rf"^{re.escape(one)}: .*; v1 is given to it again in 1 s$")
                assert await _fitness(running, one) == "policy_mismatch"
                hidden.rename(first)
                await _until(lines, rf"^serving v1 at {re.escape(one)}/v1 again$")
                await _until(lines, rf"^v1 is confirmed at {re.escape(one)} ")
                assert [await _fitness(running, url) for url in (one, two)] == ["fit"] * 2
            assert lines.process.returncode == 0, json.dumps(lines.said)
            way.down()
