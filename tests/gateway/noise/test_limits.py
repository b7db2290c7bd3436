"""Caps on noise, and noise that switches itself off."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from crosswind.gateway.cli import root
from crosswind.gateway.config.sections import Abort, Dose
from crosswind.gateway.noise.kill_switch import KillSwitch
from crosswind.gateway.noise.limits import AbortWatch
from crosswind.gateway.sessions.caps import may_be_noisy
from crosswind.testing.replies import plain
from tests.gateway.dialogue import PROFILE, TOOLS, body, history, user
from tests.gateway.servers import Running, answer, gateway, upstream

RESET = """\
name: resets
version: 1
summary: Every request hangs.
compose: all_of
bounds: {faults_per_call: 1, faults_per_session: 100}
rules:
  - operator: transport.hang
    severity: 1.0
    when: {probability: 1.0}
"""


async def injected(running: Running, session: str) -> list[dict[str, Any]]:
    return [one for one in (await running.trajectory(session))["events"] if one["after"] is not None]


async def test_a_share_of_the_sessions_is_noisy_and_always_the_same_ones(tmp_path: Path) -> None:
    async with upstream() as app:
        arms = []
        for run in ("a", "b"):
            given_: dict[str, Any] = {"noise": PROFILE, "store": f"sqlite:///{tmp_path}/{run}.db"}
            async with gateway(tmp_path, app, **given_, dose={"share": 0.3}) as running:
                for number in range(30):
                    await running.chat(body(user("hello")), f"s{number}")
                found = await running.sessions()
                arms.append({one["id"]: one["arm"] for one in found})
                grouped = await running.api("POST", "/api/sessions", {"group_id": "g", "task_id": "t"})
                assert grouped.json()["arm"] == "noisy", "an experiment's own traffic"
        assert arms[0] == arms[1] and 3 <= sum(arm == "noisy" for arm in arms[0].values()) <= 18


@given(st.floats(0, 1), st.floats(0, 1), st.text(max_size=5))
def test_a_greater_share_holds_every_session_of_a_smaller_one(one: float, other: float, key: str) -> None:
    few, many = sorted((one, other))
    if may_be_noisy(Dose(share=few), None, seed=1, key=key):
        assert may_be_noisy(Dose(share=many), None, seed=1, key=key)
    assert may_be_noisy(Dose(tenants={"t": few}), "t", seed=1, key=key) == may_be_noisy(
        Dose(share=few), None, seed=1, key=key
    )


async def test_a_session_and_a_tool_have_their_caps_and_what_they_withhold_is_said(tmp_path: Path) -> None:
    # Both act on each result; the faults are all one call's.
    noise = PROFILE.replace("tool.timeout", "tool.redundant")
    for cap, sites in (("events_per_session", None), ("events_per_tool", "tool_result")):
        store = f"sqlite:///{tmp_path}/{cap}.db"
        given_: dict[str, Any] = {"noise": noise, "store": store}
        async with upstream() as app, gateway(tmp_path, app, **given_, dose={cap: 1}) as running:
            await running.chat(body(*history(3)), "one")
            events = (await running.trajectory("one"))["events"]
            concerned = [event for event in events if sites in (None, event["site"])]
            withheld = [event for event in concerned if f"`{cap}` allows" in event["note"]]
            assert len(concerned) - len(withheld) == 1 and withheld
            assert {event["after"] for event in withheld} == {None}
            # What is withheld stays so, and is said once.
            await running.chat(body(*history(4)), "one")
            again = (await running.trajectory("one"))["events"]
            assert again[: len(events)] == events
            assert len({(one["anchor"], one["operator"]) for one in again}) == len(again)
        counted = CliRunner().invoke(root, ["noise", "audit", store, "--json"])
        tally = json.loads(counted.stdout)
        assert not tally["breaches"]
        assert sum(one["withheld"] for one in tally["operators"]) >= len(withheld)


@pytest.mark.parametrize(
    ("operator", "turns"),
    [("transport.latency", 3), ("schema.misleading_description", 1)],
    ids=["link", "tools"],
)
async def test_links_and_tools_say_too_what_the_cap_withholds(
    tmp_path: Path, operator: str, turns: int
) -> None:
    two = [TOOLS[0], {**TOOLS[0], "function": {**TOOLS[0]["function"], "name": "get_return"}}]
    dose = {"events_per_session": 1}
    async with (
        upstream() as app,
        gateway(
            tmp_path,
            app,
            noise="name: capped\nversion: 1\nsummary: One.\ncompose: all_of\nrules:\n"
            f"  - operator: {operator}\n"
            f"    severity: {0.01 if turns > 1 else 1}\n    when: {{probability: 1.0}}\n",
            dose=dose,
        ) as running,
    ):
        for turn in range(turns):
            await running.chat(body(*history(turn + 1), tools=two), "one")
        events = (await running.trajectory("one"))["events"]
    assert [event["after"] is None for event in events] == [False, *[True] * max(turns - 1, 1)]
    assert all("`events_per_session` allows" in event["note"] for event in events[1:])


async def test_only_so_many_faults_are_in_flight(tmp_path: Path) -> None:
    async with (
        upstream(plain(answer())) as app,
        gateway(tmp_path, app, noise=RESET, dose={"faults_in_flight": 2}) as running,
    ):
        asked = [running.chat(body(user("hello")), f"s{number}") for number in range(6)]
        came = await asyncio.gather(*asked, return_exceptions=True)
        assert sum(isinstance(one, httpx.TransportError) for one in came) == 2
        await running.flush()
        withheld = 0
        for number in range(6):
            for event in (await running.trajectory(f"s{number}"))["events"]:
                withheld += event["after"] is None and "faults_in_flight" in event["note"]
        assert withheld == 4
        # The places are free again.
        with pytest.raises(httpx.TransportError):
            await running.chat(body(user("hello")), "later")


async def test_noise_stops_by_itself_when_the_upstream_fails(tmp_path: Path) -> None:
    failing = plain({"error": {"message": "no"}}, 500)
    async with (
        upstream(*[plain(answer())] * 5, *[failing] * 6, plain(answer())) as app,
        gateway(
            tmp_path, app, noise=PROFILE, abort={"error_rate": 0.5, "least": 5, "window": 600}
        ) as running,
    ):
        for number in range(11):
            await running.chat(body(user(f"hello {number}")), f"s{number}")
        await running.flush()
        assert (await running.api("GET", "/api/noise")).json() == {
            "enabled": False,
            "reason": "6 of 11 requests failed, more than abort.error_rate 0.5",
        }
        await running.chat(body(user("hello")), "after")
        assert app.requests[-1].texts() == ["hello"], "clean from now on"
        text = (await running.http.get(f"{running.control}/metrics")).text
        assert "crosswind_noise_stopped_by_itself_total 1.0" in text
        assert (await running.api("PUT", "/api/noise", {"enabled": True})).json()["enabled"]


async def test_noise_stops_by_itself_where_every_exchange_has_a_fault(tmp_path: Path) -> None:
    slow = "name: slow\nrules:\n- {operator: transport.latency, severity: 0.01}\n"
    failing = plain({"error": {"message": "no"}}, 500)
    abort = {"error_rate": 0.5, "least": 3, "window": 600}
    async with (
        upstream(failing) as app,
        gateway(tmp_path, app, noise=slow, abort=abort) as running,
    ):
        for number in range(3):
            await running.chat(body(user("hello")), f"s{number}")
            events = (await running.trajectory(f"s{number}"))["events"]
            assert [one["after"] is not None for one in events] == [True]
        assert not (await running.api("GET", "/api/noise")).json()["enabled"]


def test_a_window_moves_and_slow_requests_count() -> None:
    now, said = 0.0, list[str]()
    watch = AbortWatch(Abort(latency=1.0, least=4, window=10.0), said.append, lambda: now)
    for seconds in (2.0, 2.0, 0.1):
        watch.note(failed=False, seconds=seconds)
    now = 20.0
    for seconds in (2.0, 0.1, 0.1, 0.1):
        watch.note(failed=True, seconds=seconds)
    assert not said, "what is past doesn't count, and failures were not asked for"
    for _ in range(3):
        watch.note(failed=False, seconds=3.0)
    assert len(said) == 1 and "abort.latency" in said[0]
    assert json.dumps(said)


def test_a_file_that_keeps_noise_off_is_said_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file, now = tmp_path / "store.db.noise-off", [0.0]
    switch = KillSwitch(file, clock=lambda: now[0])
    assert switch.enabled and "noise is off" not in "".join(capfd.readouterr())
    file.touch()
    for _ in range(3):
        now[0] += 1.0
        assert not switch.enabled
    assert "".join(capfd.readouterr()).count("noise is off while this file exists") == 1
    file.unlink()
    now[0] += 1.0
    assert switch.enabled
