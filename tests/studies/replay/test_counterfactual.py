"""`crosswind replay --under`: recorded sessions under other noise, as far as the recording answers."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from crosswind.testing import Answer, Call, ScriptedProvider, script
from tests.gateway.agents import Agent, ChatAgent, LinkedAgent, MessagesAgent, ResponsesAgent
from tests.gateway.closed_world import ABBREVIATED, TOOL
from tests.gateway.closed_world import profile as on_tools
from tests.gateway.dialogue import PROFILE, TURNS, body, lead, user
from tests.gateway.proxy.test_tool_http import MISLEAD
from tests.gateway.proxy.test_tool_legs import request_with
from tests.gateway.proxy.test_tool_mcp import text_of
from tests.gateway.servers import gateway, upstream
from tests.gateway.tools.shop import mcp_shop
from tests.studies.replay.test_replay import led, replayed


def rules(*each: str) -> str:
    return "name: other\nversion: 1\nsummary: Of a test.\ncompose: all_of\nrules:\n" + "".join(
        f"  - {{severity: 1.0, {one}}}\n" for one in each
    )


TIMEOUT = "operator: tool.timeout"


async def under(tmp_path: Path, session: str, profile: str, *more: str) -> dict[str, Any]:
    """The document of a replay under a profile, given by its text or by its name."""
    named = profile
    if "\n" in profile:
        file = tmp_path / "other.yaml"
        file.write_text(profile)
        named = str(file)
    text = await replayed(tmp_path, session, "--under", named, *more)
    result = await replayed(tmp_path, session, "--under", named, "--json", *more)
    assert result.exit_code == text.exit_code == 0, result.output
    document = json.loads(result.stdout)
    lines = text.stdout.splitlines()
    assert all(len(line) <= 80 for line in lines)
    if document["ends"] is None:
        count = len({turn["turn"] for turn in document["turns"]})
        all_turns = f"all {count} turns are" if count > 1 else "its 1 turn is"
        assert lines[-1] == f"{all_turns} answered by the recording"
    else:
        assert lines[-1].startswith(f"ends at turn {document['ends']['turn']}")
    return {**document, "text": text.stdout}


def names(turn: dict[str, Any], of: str) -> list[str]:
    return [one["operator"] for one in turn[of]]


async def test_a_session_is_answered_whole_under_its_own_noise(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, noise=PROFILE, steering=True) as running:
        await led(running, "s")
        await led(running, "t", streaming=True)
        await running.flush()
    for session in ("s", "t"):
        document = await under(tmp_path, session, PROFILE)
        assert document["ends"] is None and len(document["turns"]) == len(TURNS)
        assert not any(turn["injected"] + turn["recorded_only"] for turn in document["turns"])


async def test_a_clean_session_ends_at_the_first_turn_that_noise_touches(tmp_path: Path) -> None:
    async with upstream() as app:
        async with gateway(tmp_path, app) as running:
            await lead(running, "s", range(len(TURNS)))
            await running.flush()
        assert (await under(tmp_path, "s", "off"))["ends"] is None
        document = await under(tmp_path, "s", rules(TIMEOUT))
        assert document["ends"] == {
            "turn": 1,
            "attempt": 0,
            "why": "the recorded answer was to another tool result",
        }
        assert document["text"].endswith("ends at turn 1: the recorded answer was to another tool result\n")
        first, second = document["turns"]
        assert (first["answered"], second["answered"]) == (True, False)
        (event,) = second["injected"]
        assert (event["operator"], event["tool"]) == ("tool.timeout", "get_order")
        assert "shipped" in event["before"] and "shipped" not in event["after"]
        assert "turn 0: as recorded\n" in document["text"]
        assert "  injected: tool.timeout, get_order\n    - {" in document["text"]


@pytest.mark.parametrize("profile", ["noisyagent/tool", "chaos/confused-users", "noisyagent/level-2"])
async def test_a_live_session_of_that_name_and_profile_meets_the_same(tmp_path: Path, profile: str) -> None:
    """Also where the profile draws one type among those that the first request allows."""
    (tmp_path / "live").mkdir()
    async with upstream() as app:
        async with gateway(tmp_path, app) as running:
            await lead(running, "s", range(len(TURNS)))
            await running.flush()
        async with gateway(tmp_path / "live", app, profile=profile) as running:
            await lead(running, "s", range(len(TURNS)))
            live = await running.trajectory("s")
    document = await under(tmp_path, "s", profile)
    last = document["turns"][-1]["turn"]
    expected = [
        (one["turn_index"], one["operator"], one["after"])
        for one in live["events"]
        if one["turn_index"] <= last and one["slot"]
    ]
    met = [
        (turn["turn"], one["operator"], one["after"])
        for turn in document["turns"]
        for one in turn["injected"] + turn["withheld"]
    ]
    assert sorted(met, key=str) == sorted(expected, key=str)
    assert expected


async def test_noise_that_acts_later_lets_the_recording_answer_until_then(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app) as running:
        await lead(running, "s", range(len(TURNS)))
        await running.flush()
    (early, late) = [
        await under(tmp_path, "s", rules(f"operator: user.redundant, when: {{start: {start}}}"))
        for start in (0, 1)
    ]
    assert early["ends"]["turn"] == 0
    assert late["ends"] == {"turn": 3, "attempt": 0, "why": "the recorded answer was to another user text"}


async def test_noise_on_a_tool_leg_is_not_played_again(tmp_path: Path) -> None:
    async with (
        mcp_shop() as shop,
        upstream() as app,
        gateway(tmp_path, app, noise=MISLEAD, tools={"mcp": {"shop": {"url": shop.url}}}) as running,
    ):
        await running.chat(body(user("Where is order 7?")), "s")
        async with Client(f"{running.data}/s/s/mcp/shop") as client:
            shown = text_of(await client.call_tool("get_order", {"order_id": 7}))
        await running.chat(request_with("get_order", shown), "s")
        await running.flush()
    assert (await under(tmp_path, "s", MISLEAD))["ends"] is None
    document = await under(tmp_path, "s", "off")
    assert document["ends"]["why"] == "noise on the tool leg of get_order isn't played again"
    assert document["ends"]["turn"] == 1


async def test_a_noisy_session_without_its_noise_ends_where_it_had_some(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, noise=rules(TIMEOUT)) as running:
        await lead(running, "s", range(len(TURNS)))
        await running.flush()
    document = await under(tmp_path, "s", "off")
    assert document["ends"]["turn"] == 1
    assert names(document["turns"][-1], "recorded_only") == ["tool.timeout"]
    assert "  in the recording only: tool.timeout, get_order\n" in document["text"]


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("make", [ChatAgent, MessagesAgent, ResponsesAgent, LinkedAgent])
async def test_every_protocol_ends_alike(tmp_path: Path, make: type[Agent], stream: bool) -> None:
    calls = [
        Answer(calls=(Call(TOOL, {"customer": f"ACME {at}"}),), reasoning=f"Thought {at}.") for at in range(2)
    ]
    async with (
        ScriptedProvider(script(Answer("Hello."), *calls, Answer("Two orders."))) as app,
        gateway(tmp_path, app.url) as running,
        make(running, stream=stream) as agent,
    ):
        await agent.ask("Hello!")
        await agent.ask()
        await agent.answer_calls()
        await agent.answer_calls()
        await running.flush()
    for profile, turn, why in (
        (rules(TIMEOUT), 2, "another tool result"),
        (rules("operator: user.redundant"), 0, "another user text"),
        (on_tools(ABBREVIATED), 0, "other tools"),
    ):
        document = await under(tmp_path, "one", profile)
        ends = {"turn": turn, "attempt": 0, "why": f"the recorded answer was to {why}"}
        assert document["ends"] == ends, document["text"]
    assert (await under(tmp_path, "one", "off"))["ends"] is None


async def test_a_fault_before_delivery_ends_it_and_a_delay_does_not(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app) as running:
        await lead(running, "s", range(len(TURNS)))
        await running.flush()
    document = await under(tmp_path, "s", rules("operator: transport.status"))
    assert document["ends"] == {"turn": 0, "attempt": 0, "why": "transport.status spoils the recorded answer"}
    document = await under(tmp_path, "s", rules("operator: transport.latency"))
    assert document["ends"] is None
    assert names(document["turns"][0], "injected") == ["transport.latency"]


async def test_a_recorded_fault_that_other_noise_lacks_is_answered_by_the_retry(tmp_path: Path) -> None:
    status = rules("operator: transport.status")
    async with upstream() as app, gateway(tmp_path, app, noise=status) as running:
        asked, retry = body(user("Where is W17?")), {"x_stainless_retry_count": "1"}
        answers = [await running.chat(asked, "s"), await running.chat(asked, "s", **retry)]
        answers.append(await running.chat(asked, "s", **retry))
        lost = await running.chat(asked, "t")
        await running.flush()
    assert answers[0].status_code >= 500 and answers[-1].status_code == 200 and lost.status_code >= 500
    assert (await under(tmp_path, "s", status))["ends"] is None
    document = await under(tmp_path, "s", "off")
    assert document["ends"] is None and names(document["turns"][0], "recorded_only") == ["transport.status"]
    assert len(document["turns"]) == 1
    document = await under(tmp_path, "t", "off")
    assert document["ends"]["why"] == "transport.status spoiled the recorded answer"


async def test_the_seed_is_the_sessions_or_the_one_that_is_given(tmp_path: Path) -> None:
    rule = "operator: user.redundant, when: {probability: 0.5}"
    async with upstream() as app, gateway(tmp_path, app) as running:
        await lead(running, "s", range(len(TURNS)))
        await running.flush()
    own = await under(tmp_path, "s", rules(rule))
    given = [await under(tmp_path, "s", rules(rule), "--seed", str(seed)) for seed in range(8)]
    assert own["turns"] == given[own["seed"]]["turns"]
    assert len({json.dumps(one["turns"]) for one in given}) > 1


async def test_turns_without_content_end_it(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, record="metadata") as running:
        await running.chat(body(user("hello")), "s")
        await running.flush()
    assert (await under(tmp_path, "s", "off"))["ends"]["why"] == "its bodies are not recorded"


async def test_what_is_unknown_is_named(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app) as running:
        await running.chat(body(user("hello")), "s")
        await running.flush()
    ask = partial(replayed, tmp_path)
    for arguments, says in (
        (("s", "--under", "chaos/flaky-tolls"), "chaos/flaky-tools"),
        (("s", "--under", "missing.yaml"), "missing.yaml"),
        (("nobody", "--under", "off"), "has no session 'nobody'"),
        (("s", "--seed", "1"), "give --under with it"),
        (("s", "--under", "off", "--against", "http://127.0.0.1:1/v1"), "exclude each other"),
    ):
        refused = await ask(*arguments)
        assert refused.exit_code in (1, 2) and says in refused.stderr, refused.output
        assert "Traceback" not in refused.output
