"""`crosswind noise check`: what a profile will do, in expected numbers, is what it does."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from crosswind.gateway.cli import root
from tests.gateway.dialogue import TOOLS, TURNS, body, history, lead, user
from tests.gateway.noise.test_system_prompt import PROFILE as DIFFICULT
from tests.gateway.noise.test_system_prompt import TOLD, system
from tests.gateway.servers import gateway, upstream

PROFILE = """\
name: mine
rules:
  - {operator: user.cost_cue, severity: 0.5}
  - {operator: tool.timeout, severity: 0.5, where: {tools: [get_order]}}
  - {operator: CD, severity: 1.0}
  - {operator: transport.latency, severity: 0.001}
"""


def check(*arguments: Any) -> Result:
    return CliRunner().invoke(root, ["noise", "check", *map(str, arguments)], env={"COLUMNS": "200"})


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    file = tmp_path / "mine.yaml"
    file.write_text(PROFILE)
    return file


def conversation(tmp_path: Path) -> Path:
    file = tmp_path / "chat.json"
    file.write_text(json.dumps({"messages": history(len(TURNS)), "tools": TOOLS}))
    return file


ASLEEP = "name: mine\nbounds: {faults_per_session: 9}\nrules: [{operator: tool.timeout, severity: 1}]\n"


async def test_tools_are_classed_as_in_traffic(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(ASLEEP)
    asked: dict[str, tuple[str, dict[str, str]]] = {
        "fetch_order": ("", {}),
        "capital_of": ("Returns the capital of a country.", {}),
        "Bash": ("Executes a command.", {}),
        "frob": ("", {"frob": "read_only"}),
        "zap": ("", {}),
    }
    live: dict[str, bool] = {}
    async with upstream() as app, gateway(tmp_path, app, profile=str(file)) as running:
        for tool, (description, declared) in asked.items():
            opened = (await running.api("POST", "/api/sessions", {"tool_classes": declared})).json()
            await running.chat(calling(tool, description), opened["id"])
            [event] = (await running.trajectory(opened["id"]))["events"]
            live[tool] = event["after"] is not None
    assert live == {"fetch_order": True, "capital_of": True, "Bash": False, "frob": True, "zap": False}
    result = await asyncio.to_thread(check, file, f"sqlite:///{tmp_path}/store.db", "--seeds", 1, "--json")
    [found] = json.loads(result.stdout)["operators"]
    assert (found["injected"], found["withheld"]) == (3 / 5, 2 / 5)
    assert all("its call may have changed something" in why for why in found["reasons"])


def calling(tool: str, description: str) -> dict[str, Any]:
    called = {"id": "c", "type": "function", "function": {"name": tool, "arguments": "{}"}}
    declared = {"name": tool, "description": description, "parameters": {"type": "object", "properties": {}}}
    return {
        "model": "tiny",
        "messages": [
            user("Do it."),
            {"role": "assistant", "content": None, "tool_calls": [called]},
            {"role": "tool", "tool_call_id": "c", "content": "W17"},
        ],
        "tools": [{"type": "function", "function": declared}],
    }


REPLAYABLE = "name: mine\nassume_tools: replayable\nrules: [{operator: tool.timeout, severity: 1}]\n"


@pytest.mark.parametrize("assumed", [False, True])
async def test_what_a_profile_assumes_of_tools_counts_as_it_does_for_the_gateway(
    tmp_path: Path, assumed: bool
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(REPLAYABLE)
    given = {"profile": str(file), "assume_replayable": assumed}
    async with upstream() as app, gateway(tmp_path, app, **given) as running:
        await running.chat(calling("book_flight", "Book a flight."), "s")
        [event] = (await running.trajectory("s"))["events"]
    assert (event["after"] is not None) == assumed
    option = ["--assume-replayable"] if assumed else []
    stored = (file, f"sqlite:///{tmp_path}/store.db", "--seeds", 1, *option)
    result = await asyncio.to_thread(check, *stored, "--json")
    found = json.loads(result.stdout)
    [one] = found["operators"]
    assert (one["injected"], one["withheld"]) == ((1, 0) if assumed else (0, 1))
    assert found["assume_tools"] == ("replayable" if assumed else "declared")
    told = await asyncio.to_thread(check, *stored)
    assert "--assume-replayable" in told.output and ("does without" in told.output) != assumed


async def test_the_expected_numbers_are_those_of_traffic(tmp_path: Path, profile: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, profile=str(profile)) as running:
        counted: Counter[str] = Counter()
        sessions = 60
        for number in range(sessions):
            await running.chat(body(*history(len(TURNS))), f"s{number}")
            events = (await running.trajectory(f"s{number}"))["events"]
            counted.update(one["operator"] for one in events if one["after"] is not None)
    stored = f"sqlite:///{tmp_path}/store.db"
    for target, seeds in ((conversation(tmp_path), 400), (stored, 10)):
        result = await asyncio.to_thread(check, profile, target, "--seeds", seeds, "--json")
        assert result.exit_code == 0, result.output
        found = json.loads(result.stdout)
        expected = {one["operator"]: one for one in found["operators"]}
        assert expected["schema.misleading_description"]["injected"] == 1.0
        for name in ("user.cost_cue", "tool.timeout"):
            assert abs(expected[name]["injected"] - counted[name] / sessions) < 0.4, name
            assert 0 < expected[name]["exposed"] < expected[name]["assigned"] == 1
            assert expected[name]["injected"] <= expected[name]["eligible"]
        assert expected["tool.timeout"]["withheld"] > 0 and expected["tool.timeout"]["reasons"]
    told = await asyncio.to_thread(check, profile, stored, "--seeds", 2)
    assert "is sound: 4 rules, all_of" in told.output and "(50 conversations, 2 seeds each)" in told.output


def test_a_forecast_can_be_read_on_a_narrow_terminal(tmp_path: Path) -> None:
    file, chat = tmp_path / "mine.yaml", conversation(tmp_path)
    file.write_text(ASLEEP + "tool_classes: {'*': unknown}\n")
    for width in (40, 60, 80):
        found = CliRunner().invoke(
            root, ["noise", "check", str(file), str(chat)], env={"COLUMNS": f"{width}"}
        )
        assert found.exit_code == 0, found.output
        lines = [line for line in found.output.splitlines() if str(file) not in line]
        assert "…" not in found.output and all(len(line) <= width for line in lines)
        assert "tool.timeout" in found.output and "Nothing says what these tools do" in found.output


def test_the_head_of_the_table_is_one_line_of_80_columns(tmp_path: Path) -> None:
    file, chat = tmp_path / "mine.yaml", conversation(tmp_path)
    file.write_text(PROFILE)
    shown = CliRunner().invoke(root, ["noise", "check", str(file), str(chat)], env={"COLUMNS": "80"}).output
    [head] = [line for line in shown.splitlines() if line.startswith("operator ")]
    assert head.endswith(" exposed") and max(map(len, shown.splitlines()[1:])) <= 80
    lines = shown.splitlines()
    [short] = [line for line in lines if line.startswith("user.cost_cue")]
    below = lines[lines.index("schema.misleading_description") + 1]
    assert len(head) == len(short) == len(below), "figures stand below their heads"


def test_a_profile_without_rules_does_nothing(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("name: mine\nrules: []\n")
    assert "has no rule: it is sound and does nothing" in check(file).output
    told = check(file, conversation(tmp_path))
    assert told.exit_code == 0 and "0.00 injections a session" in told.output


def test_a_tool_that_the_traffic_does_not_have_is_refused_by_line(tmp_path: Path, profile: Path) -> None:
    profile.write_text(PROFILE.replace("[get_order]", "[get_ordr]"))
    assert check(profile).exit_code == 0, "without traffic nothing is known of tools"
    refused = check(profile, conversation(tmp_path))
    assert refused.exit_code == 2 and len(refused.stderr.splitlines()) == 1
    assert f"{profile}:4: rules[1].where.tools[0]: 'get_ordr'" in refused.stderr
    assert "did you mean 'get_order'?" in refused.stderr


async def test_what_tells_nothing_is_named(tmp_path: Path, profile: Path) -> None:
    missing = check(profile, tmp_path / "nowhere.json")
    assert missing.exit_code == 2 and "name a file that can be read" in missing.stderr
    no_store = check(profile, f"sqlite:///{tmp_path}/nowhere.db")
    assert no_store.exit_code == 2 and "there is no store" in no_store.stderr
    async with upstream() as app, gateway(tmp_path, app, record="metadata") as running:
        await lead(running, "s", range(1))
        await running.flush()
    bare = await asyncio.to_thread(check, profile, tmp_path / "store.db")
    assert bare.exit_code == 2 and "no session has bodies on record" in bare.stderr
    level = check(profile, conversation(tmp_path), "--level", 3)
    assert level.exit_code == 2 and "or use a profile that has them" in level.stderr


def test_noise_in_a_system_prompt_is_counted(tmp_path: Path) -> None:
    (tmp_path / "difficult.yaml").write_text(DIFFICULT)
    (tmp_path / "talk.json").write_text(json.dumps([system(TOLD), user("Hello")]))
    told = check(tmp_path / "difficult.yaml", tmp_path / "talk.json", "--json")
    assert json.loads(told.stdout)["injected"] > 0


def test_a_built_in_profile_is_checked_by_its_name(tmp_path: Path) -> None:
    told = check("robustbench-tc/Timeout", conversation(tmp_path), "--json")
    assert told.exit_code == 0, told.output
    [one] = json.loads(told.stdout)["operators"]
    assert (one["operator"], one["injected"]) == ("tool.timeout", 1.0)
    wrong = check("robustbench-tc/Timeouts")
    assert wrong.exit_code == 2 and "did you mean 'robustbench-tc/Timeout'?" in wrong.output
