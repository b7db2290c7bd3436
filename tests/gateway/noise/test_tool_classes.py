"""Faults act on what a tool is known to do, whoever said so, and where they don't act it is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from crosswind.gateway.client import AsyncClient
from tests.gateway.dialogue import user
from tests.gateway.servers import Running, answer, gateway, upstream

PROFILE = "name: t\nbounds: {faults_per_session: 20}\nrules: [{operator: tool.timeout, severity: 1}]\n"


def request(tool: str, calls: int = 1, **function: Any) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [user("Where is W17?")]
    for number in range(calls):
        called = {"name": tool, "arguments": json.dumps({"id": number})}
        one = {"id": f"c{number}", "type": "function", "function": called}
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [one]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": '{"status": "shipped"}'},
        ]
    declared = {"name": tool, "parameters": {"type": "object", "properties": {"id": {}}}, **function}
    return {"model": "tiny", "messages": messages, "tools": [{"type": "function", "function": declared}]}


async def events(running: Running, session: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await running.trajectory(session))["events"]
    return found


@pytest.mark.parametrize(
    "tool,function,acts",
    [
        ("get_order", {}, True),
        ("fetch_order", {}, True),
        ("WebSearch", {}, True),
        ("capital_of", {}, False),
        ("capital_of", {"description": "Returns the capital of a country."}, True),
        ("capital_of", {"annotations": {"readOnlyHint": True}}, True),
        ("get_order", {"description": "Gets the order, and deletes it."}, False),
        ("Bash", {"description": "Executes a command and returns its output."}, False),
        ("cancel_order", {}, False),
    ],
)
async def test_a_tool_fails_by_what_it_says_of_itself(
    tmp_path: Path, tool: str, function: dict[str, Any], acts: bool
) -> None:
    async with upstream(lambda _: answer()) as app, gateway(tmp_path, app, noise=PROFILE) as running:
        await running.chat(request(tool, **function), "s")
        [event] = await events(running, "s")
    assert (event["after"] is not None) is acts, event["note"]
    assert event["tool"] == tool


async def test_a_session_goes_before_the_configuration_and_this_before_the_profile(tmp_path: Path) -> None:
    profile = PROFILE.replace("rules", "tool_classes: {'frob_*': read_only}\nrules")
    async with (
        upstream(lambda _: answer()) as app,
        gateway(tmp_path, app, noise=profile, tool_classes={"frob_a": "destructive"}) as running,
    ):
        await running.chat(request("frob_a"), "configured")
        await running.chat(request("frob_b"), "of-the-profile")
        async with AsyncClient(running.control) as client:
            opened = await client.open_session(tool_classes={"frob_*": "idempotent"})
            plan = opened.plan
        await running.chat(request("frob_a"), opened.id)
        found = [(await events(running, one))[0] for one in ("configured", "of-the-profile", opened.id)]
    assert [one["tool_class"] for one in found] == ["destructive", "read_only", "idempotent"]
    assert [one["after"] is not None for one in found] == [False, True, True]
    assert plan["tool_classes"] == {"frob_*": "idempotent"}


async def test_tools_named_on_the_command_line_only_read(tmp_path: Path) -> None:
    async with (
        upstream(lambda _: answer()) as app,
        gateway(
            tmp_path,
            app,
            noise=PROFILE,
            tools_read_only=("frob_*", "zap"),
            tool_classes={"frob_a": "destructive", "zap_*": "unknown"},
        ) as running,
    ):
        await running.chat(request("frob_a"), "a")
        [event] = await events(running, "a")
    assert event["tool_class"] == "read_only" and event["after"] is not None


async def test_a_class_that_is_none_is_refused_by_name(tmp_path: Path) -> None:
    async with upstream(lambda _: answer()) as app, gateway(tmp_path, app) as running:
        refused = await running.api("POST", "/api/sessions", {"tool_classes": {"pay": "harmless"}})
    assert refused.status_code == 400
    assert "tool_classes" in refused.text and "read_only" in refused.text


async def test_withheld_faults_are_logged_once_a_tool_counted_and_summed_up(tmp_path: Path) -> None:
    with capture_logs() as logs:
        async with upstream(lambda _: answer()) as app, gateway(tmp_path, app, noise=PROFILE) as running:
            await running.chat(request("frobnicate", 3), "one")
            await running.chat(request("frobnicate", 2), "two")
            await running.chat(request("cancel_order"), "three")
            text = (await running.api("GET", "/metrics")).text
    assert 'crosswind_noise_withheld_total{reason="tool_class",tool_class="unknown"} 5.0' in text
    assert 'crosswind_noise_withheld_total{reason="tool_class",tool_class="destructive"} 1.0' in text
    told = [one for one in logs if one.get("tool") == "frobnicate"]
    assert [(one["log_level"], one.get("faults")) for one in told] == [("warning", None), ("warning", 5)]
    for one in told:
        assert "`tool_classes: {frobnicate: read_only}`" in one["fix"]
        assert "`--tools-read-only frobnicate`" in one["fix"]
    [writes] = [one for one in logs if one.get("tool") == "cancel_order"]
    assert writes["log_level"] == "info"
    assert "'cancel' in its name" in writes["why"] and "`--tools-read-only cancel_order`" in writes["why"]
    said = [one["event"] for one in logs]
    assert "no noise acted: all that was drawn was withheld" in said
    [run] = [one for one in logs if one["event"] == "noise of this run"]
    assert (run["injected"], run["withheld"]) == (0, 6)


async def test_the_event_says_what_a_call_may_have_done_and_how_to_allow_the_fault(tmp_path: Path) -> None:
    async with upstream(lambda _: answer()) as app, gateway(tmp_path, app, noise=PROFILE) as running:
        await running.chat(request("frobnicate"), "unknown")
        await running.chat(request("cancel_order"), "writes")
        [unknown] = await events(running, "unknown")
        [writes] = await events(running, "writes")
    assert "its call may have changed something" in unknown["note"]
    assert "`tool_classes: {frobnicate: read_only}`" in unknown["note"]
    assert "`--tools-read-only frobnicate`" in unknown["note"]
    assert "cancel_order is of class destructive by 'cancel' in its name" in writes["note"]
    assert "`--tools-read-only cancel_order`" in writes["note"]


async def test_a_key_that_a_tool_is_named_like_is_in_no_log(tmp_path: Path) -> None:
    key = "sk-proj-" + "Ab3dE5gH" * 5
    with capture_logs() as logs:
        async with upstream(lambda _: answer()) as app, gateway(tmp_path, app, noise=PROFILE) as running:
            await running.chat(request(key), "one")
    assert any(one["event"].startswith("faults are withheld") for one in logs)
    assert key not in repr(logs)


async def test_a_run_in_which_noise_acted_says_how_often(tmp_path: Path) -> None:
    with capture_logs() as logs:
        async with upstream(lambda _: answer()) as app, gateway(tmp_path, app, noise=PROFILE) as running:
            await running.chat(request("fetch_order", 2), "one")
    [run] = [one for one in logs if one["event"] == "noise of this run"]
    assert (run["injected"], run["withheld"]) == (2, 0)
