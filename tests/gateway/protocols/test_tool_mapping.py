"""The client's world stays closed in every protocol: it meets its own tools only, whatever the policy was
shown, and the policy meets again what it made. The provider refuses whatever the real one would: calls
without results, results that don't come first, signatures that aren't its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from crosswind.testing import Answer, Call, CallItem, Dialogue, ResultItem, ScriptedProvider, script
from tests.gateway.agents import (
    Agent,
    ChatAgent,
    LinkedAgent,
    MessagesAgent,
    ResponsesAgent,
    calling,
    check_history,
    names,
    play,
    true_and_phantom,
)
from tests.gateway.closed_world import ABBREVIATED, DUPLICATE, MISMATCH, TOOL, profile
from tests.gateway.servers import Running, gateway

Make = Callable[[Running], Agent]

AGENTS = {"chat": ChatAgent, "messages": MessagesAgent, "responses": ResponsesAgent, "linked": LinkedAgent}
WAYS = pytest.mark.parametrize(
    "make",
    [
        pytest.param(partial(agent, stream=stream), id=f"{name}-{'streamed' if stream else 'plain'}")
        for name, agent in AGENTS.items()
        for stream in (False, True)
    ],
)


def calls_in(dialogue: Dialogue) -> list[str]:
    return [item.name for item in dialogue.items if isinstance(item, CallItem)]


def last_text(dialogue: Dialogue) -> str:
    item = dialogue.items[-1]
    assert isinstance(item, ResultItem)
    return item.text


async def check_usage(running: Running, agent: Agent) -> dict[str, Any]:
    """The usage that the agent got last is the sum of all rounds; gives its turn."""
    turn = (await running.trajectory("one"))["turns"][-1]
    rounds = [one["usage"] for one in turn["inner"]] + [json.loads(turn["produced"])["usage"]]
    assert len(rounds) > 1
    sums = tuple(sum(usage[name] for usage in rounds) for name in agent.counts)
    assert sums == agent.last.usage == tuple(turn["usage"][name] for name in agent.counts)
    assert turn["usage_injected"]["calls"] == len(turn["inner"])
    assert turn["response_id"] == agent.last.id
    return dict(turn)


@WAYS
async def test_a_renamed_tool_has_its_own_name_for_each_side(tmp_path: Path, make: Make) -> None:
    async with play(tmp_path, make, ABBREVIATED, calling(0)) as (app, _, agent):
        assert (await agent.ask()).called == [TOOL]
        assert (await agent.answer_calls(**agent.choose())).called == [TOOL]
        first, second = app.dialogues
        true, _ = true_and_phantom(first)
        assert second.tools == first.tools
        assert calls_in(second) == [true], "the history names what the policy called"
        assert second.forced == true


@WAYS
async def test_a_phantom_alone_is_answered_inside(tmp_path: Path, make: Make) -> None:
    steps = (
        calling(1, text="Let me see."),
        calling(0, text="So then."),
        Answer("Two orders.", reasoning="So."),
    )
    async with play(tmp_path, make, ABBREVIATED, *steps, Answer("Nothing else.")) as (app, running, agent):
        turn = await agent.ask()
        assert (turn.text, turn.called) == ("Let me see.So then.", [TOOL])
        stored = await check_usage(running, agent)
        assert stored["inner"][0]["calls"][0]["name"] == TOOL
        assert json.loads(stored["delivered_view"])["id"] == turn.id
        assert (await agent.answer_calls()).text == "Two orders."
        assert (await agent.ask("And what else?")).text == "Nothing else."
        true, phantom = true_and_phantom(app.dialogues[0])
        assert [calls_in(one) for one in app.dialogues] == [[], [phantom], *[[phantom, true]] * 2]


@WAYS
async def test_real_and_phantom_calls_in_one_answer(tmp_path: Path, make: Make) -> None:
    steps = calling(1, 0, 1, 0, 1, text="All."), Answer("Two orders.")
    async with play(tmp_path, make, ABBREVIATED, *steps) as (app, _, agent):
        assert (await agent.ask()).called == [TOOL, TOOL]
        await agent.answer_calls()
        await agent.ask("And what else?")
        assert len(app.requests) == 3, "no inner round"
        true, phantom = true_and_phantom(app.dialogues[0])
        for dialogue in app.dialogues[1:]:
            assert calls_in(dialogue) == [phantom, true, phantom, true, phantom]
            made = [one.id for one in dialogue.items if isinstance(one, CallItem)]
            assert sorted(one.id for one in dialogue.items if isinstance(one, ResultItem)) == sorted(made)


@WAYS
async def test_a_phantom_that_is_called_again_and_again_leaves(tmp_path: Path, make: Make) -> None:
    again = [calling(1, text=f"Try {number}.") for number in range(4)]
    last = Answer("Five.", (Call(TOOL, {"customer": "ACME"}),), reasoning="Once more.")
    steps = *again, last, Answer("Done.")
    async with play(tmp_path, make, ABBREVIATED, *steps) as (app, running, agent):
        turn = await agent.ask()
        shown = [names(dialogue) for dialogue in app.dialogues]
        assert len(shown) == 5 and TOOL in shown[3] and TOOL not in shown[4]
        assert "unknown_tool" in last_text(app.dialogues[4])
        assert (turn.text, turn.called) == ("Try 0.Try 1.Try 2.Try 3.Five.", [])
        await check_usage(running, agent)
        await agent.ask("And now?")
        assert TOOL not in names(app.dialogues[5]), "it does not come back"
        events = (await running.trajectory("one"))["events"]
        assert [one["tool"] for one in events if "left the list" in one["note"]] == [TOOL]
        async with gateway(tmp_path, app.url, noise=profile(ABBREVIATED)) as other, make(other) as later:
            later.go_on_from(agent)
            await later.ask("And after a restart?")
        assert TOOL not in names(app.dialogues[6]), "not even after a restart"


@WAYS
async def test_a_wrong_type_is_refused_inside_once(tmp_path: Path, make: Make) -> None:
    right = {"customer": "ACME", "limit": 3}

    def wrong(dialogue: Dialogue) -> Answer:
        properties = dialogue.tools[0].parameters["properties"]
        assert properties["limit"]["type"] == "string" or properties["customer"]["type"] == "integer"
        values = {"string": "3", "integer": 7}
        given = {name: values[one["type"]] for name, one in properties.items()}
        return Answer("Hm.", (Call(TOOL, given),), reasoning="Why not.")

    steps = wrong, Answer(None, (Call(TOOL, right),), reasoning="Now rightly."), Answer("Done.")
    async with play(tmp_path, make, MISMATCH, *steps) as (app, _, agent):
        assert [call.arguments for call in (await agent.ask()).calls] == [right]
        assert "must be of type" in last_text(app.dialogues[1])
        await agent.answer_calls()


@WAYS
async def test_a_wrong_type_is_refused_inside_also_when_the_phantoms_have_left(
    tmp_path: Path, make: Make
) -> None:
    """The policy can't know the type before it is told: the client would carry out the call as it is."""
    right = {"customer": "ACME", "limit": 3}

    def call(given: dict[str, Any], dialogue: Dialogue) -> Answer:
        (true,) = [name for name in names(dialogue) if name != TOOL]
        return Answer(None, (Call(true, given),), reasoning="So then.")

    again = [calling(1, text=f"Try {number}.") for number in range(4)]
    steps = *again, partial(call, {"customer": 7, "limit": "3"}), partial(call, right), Answer("Done.")
    noise = profile(ABBREVIATED, MISMATCH)
    async with (
        ScriptedProvider(script(*steps), names_in_two=True) as app,
        gateway(tmp_path, app.url, noise=noise) as running,
        make(running) as agent,
    ):
        turn = await agent.ask()
        assert [(one.name, one.arguments) for one in turn.calls] == [(TOOL, right)]
        assert "must be of type" in last_text(app.dialogues[5])
        assert (await agent.answer_calls()).text == "Done."
    check_history(app)


@WAYS
async def test_a_true_duplicate_is_the_clients_tool(tmp_path: Path, make: Make) -> None:
    def second(dialogue: Dialogue) -> Answer:
        return Answer(None, (Call(names(dialogue)[1], {"customer": "ACME"}),), reasoning="The other.")

    async with play(tmp_path, make, DUPLICATE, second, Answer("Done.")) as (app, _, agent):
        assert (await agent.ask()).called == [TOOL]
        await agent.answer_calls()
        shown = names(app.dialogues[0])
        # Anthropic refuses two tools of one name.
        assert len(shown) == 2 and len(set(shown)) == (2 if isinstance(agent, MessagesAgent) else 1)
        assert names(app.dialogues[1]) == shown
        assert calls_in(app.dialogues[1]) == [shown[1]], "it meets the call that it made"


@pytest.mark.parametrize("make", AGENTS.values(), ids=AGENTS)
async def test_another_process_goes_on_from_the_ledger(tmp_path: Path, make: Make) -> None:
    policy = script(calling(1, text="Hm."), calling(1, 0), calling(0), Answer("Two orders."))
    async with ScriptedProvider(policy) as app:
        before: Agent | None = None
        for _ in range(3):
            async with (
                gateway(tmp_path, app.url, noise=profile(ABBREVIATED)) as running,
                make(running) as agent,
            ):
                if before is not None:
                    agent.go_on_from(before)
                await (agent.answer_calls() if before else agent.ask())
                before = agent
        assert agent.last.text == "Two orders."
        true, phantom = true_and_phantom(app.dialogues[0])
        assert calls_in(app.dialogues[-1]) == [phantom, phantom, true, true]
        check_history(app)
