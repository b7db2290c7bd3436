"""Rollouts and benchmarks through the real gateway, with the oracle as the policy behind it."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import httpx

from crosswind.gateway.client import AsyncClient
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.simulators.environment import load
from crosswind.testing import DecideMessage, ScriptedProvider, answer_messages

RETAIL = load("retail")
TYPES = ("tool.incomplete", "tool.misleading", "tool.timeout", "user.redundant", "user.typos")


async def command(*given: str) -> Process:
    """One of our commands as a process of its own."""
    main = "from crosswind.gateway.cli import main; main()"
    return await asyncio.create_subprocess_exec(sys.executable, "-c", main, *given, stdout=PIPE, stderr=PIPE)


@asynccontextmanager
async def gateway(tmp_path: Path, decide: DecideMessage) -> AsyncIterator[str]:
    """The gateway in front of a policy that decides so; gives the control plane's URL."""
    async with ScriptedProvider(answer_messages(decide), strict=False) as server:
        store = f"sqlite:///{tmp_path / 'store.db'}"
        ports = ("--port", "0", "--control-port", "0")
        process = await command("serve", "--upstream", server.base_url, "--store", store, *ports)
        said = asyncio.create_task(_announced(process))
        try:
            yield await asyncio.wait_for(said, 60)
        finally:
            said.cancel()
            if process.returncode is None:
                process.terminate()
            await process.communicate()


async def _announced(process: Process) -> str:
    """The control plane's URL, which the gateway prints once both ports are bound."""
    assert process.stderr is not None
    seen = b""
    async for line in process.stderr:
        seen += line
        found = re.search(rb"control plane\s+(http://\S+)", line)
        if found:
            return found[1].decode()
    raise AssertionError(seen.decode())


async def outcome(process: Process) -> tuple[int | None, str, str]:
    out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


async def succeed(*given: str) -> str:
    """What the command prints."""
    code, out, err = await outcome(await command(*given))
    assert code == 0, err
    return out


async def sessions_of(control: str, **which: str) -> list[dict[str, Any]]:
    async with httpx.AsyncClient(trust_env=False) as client:
        answer = await client.get(f"{control}/api/sessions", params={**which, "limit": "1000"})
    found: list[dict[str, Any]] = answer.json()["sessions"]
    return found


async def test_groups_are_played_rewarded_and_closed(tmp_path: Path) -> None:
    async with gateway(tmp_path, RETAIL.oracle().decide) as control:
        given = ("--groups", "3", "--group-size", "4", "--seed", "5", "--run", "trial", "--json-progress")
        out = await succeed("rollout", "run", "--control", control, *given)
        last = json.loads(out.splitlines()[-1])
        assert (last["event"], last["episodes"], last["errors"]) == ("end", 12, 0)
        assert last["arms"]["clean"]["success"] == 1.0
        for number in range(3):
            sessions = await sessions_of(control, group_id=f"train-5-{number:05d}")
            assert sorted(session["rollout_index"] for session in sessions) == [0, 1, 2, 3]
            assert {session["status"] for session in sessions} == {"closed"}
            assert {(session["reward_state"], session["reward"]) for session in sessions} == {("given", 1.0)}
            labels = sessions[0]["labels"]
            assert labels["purpose"] == "train" and labels["run"] == "trial" and labels["split"] == "train"
            components = sessions[0]["reward_components"]
            assert components == {"database_ok": 1.0, "told_ok": 1.0, "read_ok": 1.0, "not_executed": 0.0}


async def test_a_curriculum_makes_noisy_rollouts_which_the_oracle_rides_out(tmp_path: Path) -> None:
    curriculum = {
        "version": 1,
        "profile": "noisyagent",
        "rho": 0.5,
        "types": {name: {"level": 5, "share": 1.0} for name in TYPES},
    }
    async with gateway(tmp_path, RETAIL.oracle().decide) as control:
        async with AsyncClient(control) as client:
            await client.put_curriculum(curriculum)
        given = (
            "--groups",
            "13",
            "--group-size",
            "4",
            "--kinds",
            "all",
            "--max-turns",
            "20",
            "--json-progress",
        )
        out = await succeed("rollout", "run", "--control", control, *given)
        last = json.loads(out.splitlines()[-1])
        assert last["errors"] == 0
        assert {name: arm["success"] for name, arm in last["arms"].items()} == {"clean": 1.0, "noisy": 1.0}
        assert set(last["types"]) <= set(TYPES)
        noisy = Counter(s["group_id"] for s in await sessions_of(control) if s["arm"] == "noisy")
        assert noisy and min(noisy.values()) >= 2


async def test_a_benchmark_of_the_oracle_is_full_marks_under_every_noise(tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    async with gateway(tmp_path, RETAIL.oracle().decide) as control:
        given = (
            "--control",
            control,
            "--profile",
            "noisyagent",
            "--level",
            "5",
            "--kinds",
            "all",
            "--max-turns",
            "20",
        )
        # Few at once: a gateway that is short of files turns connections away.
        out = await succeed("bench", *given, "--tasks", "13", "--concurrency", "8", "--json", str(file))
        results = json.loads(file.read_text())
        assert set(results["arms"]) == {"clean", "noisy", *TYPES}
        for name, arm in results["arms"].items():
            assert arm["n"] == (65 if name == "noisy" else 13)
            assert (arm["success"], arm["errors"], len(arm["by_task"])) == (1.0, 0, 13), name
            assert arm["low"] > 0.7 and arm["high"] == 1.0
        assert "tool.timeout" in out and "100.0%" in out
        # Retries show that the noise was there, and labels tell evaluation from training.
        assert results["arms"]["tool.timeout"]["tool_calls"] > results["arms"]["clean"]["tool_calls"]
        sessions = await sessions_of(control)
        assert {session["labels"]["purpose"] for session in sessions} == {"eval"}
        assert "+0.0" in await succeed("bench", "--compare", str(file), str(file))


async def test_a_second_run_goes_on_after_the_groups_of_the_first(tmp_path: Path) -> None:
    """Rollouts that joined groups which were trained on already would be lost, and spoil the others."""
    async with gateway(tmp_path, RETAIL.oracle().decide) as control:
        for given in ((), (), ("--first-group", "1", "--seed", "3"), ("--seed", "3")):
            played = ("--groups", "2", "--group-size", "2", "--control", control)
            await succeed("rollout", "run", *played, *given)
        groups = Counter(session["group_id"] for session in await sessions_of(control))
        assert groups == {
            f"train-{seed}-{n:05d}": 2 for seed, first in ((0, 0), (3, 1)) for n in range(first, first + 4)
        }


async def test_numbers_of_groups_that_were_pruned_are_not_given_again(tmp_path: Path) -> None:
    """A run's cursor has consumed them: it would pass over new groups of those names for good."""
    prune = ("store", "prune", "--store", f"sqlite:///{tmp_path / 'store.db'}", "--older-than", "0h", "--all")
    async with gateway(tmp_path, RETAIL.oracle().decide) as control:
        for first in (0, 2, 4):
            played = ("--groups", "2", "--group-size", "2", "--control", control)
            await succeed("rollout", "run", *played)
            groups = Counter(session["group_id"] for session in await sessions_of(control))
            assert groups == {f"train-0-{number:05d}": 2 for number in (first, first + 1)}
            await succeed(*prune)
            assert await sessions_of(control) == []
        async with AsyncClient(control) as client:
            assert await client.highest_deleted("train-0-") == 5
            assert await client.highest_deleted("train-1-") is None


async def test_rollouts_of_which_none_came_to_its_end_are_a_failure(tmp_path: Path) -> None:
    def broken(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
        raise RuntimeError("no policy here")

    async with gateway(tmp_path, broken) as control:
        given = ("--groups", "1", "--group-size", "2", "--control", control)
        code, _, err = await outcome(await command("rollout", "run", *given))
        assert code == 1 and "0 episodes  2 errors (InternalServerError 5" in err, err


async def test_a_gateway_that_starts_a_moment_later_is_waited_for(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    control = f"http://127.0.0.1:{port}"
    async with ScriptedProvider(answer_messages(RETAIL.oracle().decide), strict=False) as server:
        rollouts = await command("rollout", "run", "--control", control, "--groups", "1", "--group-size", "2")
        assert rollouts.stderr is not None
        assert b"waiting up to 60 s for" in await rollouts.stderr.readline()
        store = f"sqlite:///{tmp_path / 'store.db'}"
        ports = ("--port", "0", "--control-port", str(port))
        serving = await command("serve", "--upstream", server.base_url, "--store", store, *ports)
        try:
            code, _, err = await outcome(rollouts)
        finally:
            serving.terminate()
            await serving.communicate()
    assert code == 0 and "2 episodes  0 errors" in err


async def test_rollouts_for_a_trainer_wait_for_its_curriculum(tmp_path: Path) -> None:
    curriculum = {
        "version": 1,
        "profile": "noisyagent",
        "rho": 0.5,
        "types": {"tool.timeout": {"level": 1, "share": 1.0}},
    }
    async with gateway(tmp_path, RETAIL.oracle().decide) as control, AsyncClient(control) as client:
        process = await command(
            "rollout", "run", "--control", control, "--group-size", "4", "--concurrency", "4"
        )
        assert process.stderr is not None
        assert b"for a trainer to set its curriculum" in await process.stderr.readline()
        assert await sessions_of(control) == []
        await client.put_curriculum(curriculum)
        while not (await sessions_of(control)):
            assert process.returncode is None
            await asyncio.sleep(0.05)
        process.send_signal(signal.SIGINT)
        code, _, err = await outcome(process)
        assert code == 0 and "Traceback" not in err
        assert {session["arm"] for session in await sessions_of(control, group_id="train-0-00000")} >= {
            "clean"
        }


async def test_rollouts_that_wait_for_a_trainer_stop_when_told(tmp_path: Path) -> None:
    async with gateway(tmp_path, RETAIL.oracle().decide) as control:
        process = await command("rollout", "run", "--control", control)
        assert process.stderr is not None
        assert b"for a trainer to set its curriculum" in await process.stderr.readline()
        process.send_signal(signal.SIGINT)
        code, _, err = await outcome(process)
        assert code == 0 and "Traceback" not in err and await sessions_of(control) == []
        given = ("--group-size", "2", "--curriculum-within", "0.1")
        process = await command("rollout", "run", "--control", control, *given)
        assert process.stderr is not None
        assert b"waiting up to 0.1 s" in await process.stderr.readline()
        assert b"no trainer has set a curriculum" in await process.stderr.readline()
        process.terminate()
        assert (await outcome(process))[0] == 0


async def test_a_run_without_end_stops_cleanly_when_told(tmp_path: Path) -> None:
    async with gateway(tmp_path, RETAIL.oracle().decide) as control:
        given = ("--group-size", "2", "--concurrency", "4", "--json-progress", "--curriculum-within", "0")
        process = await command("rollout", "run", "--control", control, *given)
        assert process.stdout is not None
        first = json.loads(await asyncio.wait_for(process.stdout.readline(), 60))
        assert first["event"] == "progress"
        process.terminate()
        code, out, err = await outcome(process)
        assert code == 0, err
        last = json.loads(out.splitlines()[-1])
        assert last["event"] == "end" and last["errors"] == 0
        assert {session["status"] for session in await sessions_of(control)} == {"closed"}


async def test_a_broken_policy_costs_no_reward_and_ends_the_run(tmp_path: Path) -> None:
    def broken(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
        raise RuntimeError("no policy here")

    async with gateway(tmp_path, broken) as control:
        given = ("--group-size", "2", "--concurrency", "2", "--json-progress", "--curriculum-within", "0")
        code, out, err = await outcome(await command("rollout", "run", "--control", control, *given))
        assert code == 1 and "episodes in a row failed" in err
        last = json.loads(out.splitlines()[-1])
        assert (last["event"], last["episodes"]) == ("lost", 0) and last["errors"] >= 4
        sessions = await sessions_of(control)
        # The end may cut an episode short that has just been opened: that session expires.
        assert {session["reward_state"] for session in sessions} - {"pending"} == {"not_applicable"}
        assert "InternalServerError 500" in {session["labels"].get("void") for session in sessions}


async def test_a_rollout_that_the_engine_failed_is_void_and_played_again(tmp_path: Path) -> None:
    """The SDK asks three times; then the session is closed without a reward. The group completes."""
    decide, failures = RETAIL.oracle().decide, iter(range(3))

    def dead_at_first(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
        if next(failures, None) is not None:
            raise RuntimeError("no policy here yet")
        return decide(messages, tools)

    async with gateway(tmp_path, dead_at_first) as control:
        given = ("--groups", "1", "--group-size", "2", "--concurrency", "1", "--json-progress")
        last = json.loads((await succeed("rollout", "run", "--control", control, *given)).splitlines()[-1])
        assert (last["episodes"], last["errors"]) == (2, 1)
        played = {(one["rollout_index"], one["reward_state"]) for one in await sessions_of(control)}
        assert played == {(0, "not_applicable"), (0, "given"), (1, "given")}
    with closing(SqliteStore(tmp_path / "store.db")) as store:
        assert [(one.name, one.settled) for one in store.groups_since(0)] == [("train-0-00000", True)]


async def test_what_the_gateway_refuses_is_a_usage_error(tmp_path: Path) -> None:
    async with gateway(tmp_path, RETAIL.oracle().decide) as control:
        for given, says in (
            (("rollout", "run", "--profile", "noisyagnt"), "noisyagnt"),
            (("bench", "--noise", "tool.timeot@3", "--profile", "noisyagent"), "tool.timeot"),
            (("bench", "--profile", "noisyagnt"), "noisyagnt"),
            (("bench", "--check", "--noise", "tool.timeot@3"), "did you mean 'tool.timeout'?"),
            (("bench", "--check", "--under", "chaos/brownot"), "--under: the gateway has no 'chaos/brownot'"),
        ):
            code, _, err = await outcome(await command(*given, "--control", control))
            assert code == 2 and says in err, err
        (tmp_path / "mine.yaml").write_text("name: mine/own\nrules: [{operator: Typo, severity: 1}]\n")
        good = (
            "--noise",
            "tool.timeout@3,Timeout",
            "--profile",
            "noisyagent/level-3",
            "--under",
            str(tmp_path / "mine.yaml"),
        )
        code, out, err = await outcome(await command("bench", "--check", *good, "--control", control))
        assert (code, out, err) == (0, "", ""), err
        stored = await asyncio.to_thread(httpx.get, f"{control}/api/profiles/mine/own", trust_env=False)
        assert stored.is_success, "the gateway reads no file that a client names: it was sent there"


async def test_a_benchmark_that_is_stopped_has_no_figures(tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    async with gateway(tmp_path, RETAIL.oracle().decide) as control:
        given = ("--control", control, "--tasks", "5000", "--json", str(file), "--json-progress")
        process = await command("bench", *given)
        assert process.stdout is not None
        assert json.loads(await asyncio.wait_for(process.stdout.readline(), 60))["event"] == "progress"
        process.terminate()
        code, _, err = await outcome(process)
        assert code == 1 and "stopped after" in err
        assert not file.exists()
