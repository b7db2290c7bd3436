"""The client's world stays closed: it meets its own tools only, whatever the policy was shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crosswind.testing import Answer, Call, Dialogue, script
from tests.gateway.closed_world import (
    ABBREVIATED,
    DUPLICATE,
    MISMATCH,
    TOOL,
    Client,
    called,
    calling,
    profile,
    shown,
    tool,
    true_and_phantom,
)
from tests.gateway.servers import gateway, upstream

STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])


@STREAMED
async def test_a_renamed_tool_has_its_own_name_for_each_side(tmp_path: Path, stream: bool) -> None:
    policy = script(calling(0), Answer("Two orders.", usage=(10, 4)))
    async with (
        upstream(policy) as app,
        gateway(tmp_path, app, noise=profile(ABBREVIATED)) as running,
        Client(running, stream) as client,
    ):
        choice = {"type": "function", "function": {"name": TOOL}}
        assert called(await client.turn([tool()])) == [TOOL]
        client.answer_calls()
        await client.turn([tool()], tool_choice=choice)
        first, second = app.requests[0].json, app.requests[1].json
        true, _ = true_and_phantom(first)
        assert shown(second) == shown(first)
        assert called(second["messages"][1]) == [true], "the history names what the policy called"
        assert second["tool_choice"]["function"]["name"] == true
        assert client.messages[-1]["content"].strip() == "Two orders."


@STREAMED
async def test_a_phantom_alone_is_answered_inside(tmp_path: Path, stream: bool) -> None:
    policy = script(
        calling(1, text="Let me see."), calling(0, text="So then."), Answer("Two orders.", usage=(10, 4))
    )
    async with (
        upstream(policy) as app,
        gateway(tmp_path, app, noise=profile(ABBREVIATED)) as running,
        Client(running, stream) as client,
    ):
        first = await client.turn([tool()])
        assert called(first) == [TOOL]
        assert "".join(first["content"].split()) == "Letmesee.Sothen."
        assert (client.usage.completion_tokens, client.usage.prompt_tokens) == (8, 20)
        client.answer_calls()
        await client.turn([tool()])
        _, inner, later = (seen.json["messages"] for seen in app.requests)
        true, phantom = true_and_phantom(app.requests[0].json)
        assert called(inner[1]) == [phantom]
        assert inner[2]["role"] == "tool" and inner[2]["tool_call_id"] == inner[1]["tool_calls"][0]["id"]
        assert later[: len(inner)] == inner, "the next turn goes on from what the policy met"
        assert called(later[3]) == [true] and later[3]["content"].strip() == "So then."
        assert later[4]["role"] == "tool" and len(later) == 5
        stored = await running.trajectory("one")
        turn = stored["turns"][0]
        assert turn["usage_injected"] == {
            "calls": 1,
            "prompt_tokens": 10,
            "completion_tokens": 4,
            "total_tokens": 14,
        }
        assert turn["inner"][0]["calls"][0]["name"] == phantom


@STREAMED
async def test_real_and_phantom_calls_in_one_answer(tmp_path: Path, stream: bool) -> None:
    policy = script(calling(1, 0, 1, 0), Answer("Two orders."))
    async with (
        upstream(policy) as app,
        gateway(tmp_path, app, noise=profile(ABBREVIATED)) as running,
        Client(running, stream) as client,
    ):
        assert called(await client.turn([tool()])) == [TOOL, TOOL]
        client.answer_calls()
        await client.turn([tool()])
        assert len(app.requests) == 2, "no inner round"
        history = app.requests[1].json["messages"]
        true, phantom = true_and_phantom(app.requests[0].json)
        assert called(history[1]) == [phantom, true, phantom, true]
        answered = [one["tool_call_id"] for one in history if one["role"] == "tool"]
        assert sorted(answered) == sorted(call["id"] for call in history[1]["tool_calls"])
        await client.turn([tool()])
        assert app.requests[2].json["messages"][: len(history)] == history, "it stays put"


@STREAMED
async def test_a_phantom_that_is_called_again_and_again_leaves(tmp_path: Path, stream: bool) -> None:
    policy = script(
        *[calling(1, text=f"Try {number}.") for number in range(4)],
        Answer("Five.", (Call(TOOL, {"customer": "ACME"}, "c9"),)),
        Answer("Done."),
    )
    async with (
        upstream(policy) as app,
        gateway(tmp_path, app, noise=profile(ABBREVIATED)) as running,
        Client(running, stream) as client,
    ):
        message = await client.turn([tool()])
        assert (
            len(app.requests) == 5
            and TOOL in shown(app.requests[3].json)
            and TOOL not in shown(app.requests[4].json)
        )
        assert "unknown_tool" in app.requests[4].json["messages"][-1]["content"]
        assert called(message) == [] and client.finish == "stop"
        assert "".join(message["content"].split()) == "Try0.Try1.Try2.Try3.Five."
        client.messages.append({"role": "user", "content": "And now?"})
        await client.turn([tool()])
        assert TOOL not in shown(app.requests[5].json), "it does not come back"
        history = client.messages
    async with (
        upstream(policy) as app,
        gateway(tmp_path, app, noise=profile(ABBREVIATED)) as running,
        Client(running, stream) as client,
    ):
        client.messages = [*history, {"role": "user", "content": "And after a restart?"}]
        await client.turn([tool()])
        assert TOOL not in shown(app.requests[0].json), "not even after a restart"


@STREAMED
async def test_a_wrong_type_is_refused_inside_once(tmp_path: Path, stream: bool) -> None:
    wrong: list[Any] = []

    def call(dialogue: Dialogue) -> Answer:
        properties = dialogue.body["tools"][0]["function"]["parameters"]["properties"]
        false = {"limit": 3, "customer": "ACME"}
        for name, value in properties.items():
            declared = {"customer": "string", "limit": "integer"}[name]
            if value.get("type") != declared:
                wrong.append(name)
                false[name] = 7 if name == "customer" else "3"
        return Answer(None, (Call(TOOL, false, f"c{len(dialogue.body['messages'])}"),))

    right = Answer(None, (Call(TOOL, {"customer": "ACME", "limit": 3}, "r1"),))
    policy = script(call, right, Answer("Done."))
    async with (
        upstream(policy) as app,
        gateway(tmp_path, app, noise=profile(MISMATCH)) as running,
        Client(running, stream) as client,
    ):
        message = await client.turn([tool()])
        assert wrong, "the schema was wrong"
        assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {
            "customer": "ACME",
            "limit": 3,
        }
        assert "must be of type" in app.requests[1].json["messages"][-1]["content"]


@STREAMED
async def test_a_true_duplicate_goes_to_the_agent_as_it_is(tmp_path: Path, stream: bool) -> None:
    call = Answer(None, (Call(TOOL, {"customer": "ACME"}, "c1"),))
    async with (
        upstream(script(call)) as app,
        gateway(tmp_path, app, noise=profile(DUPLICATE)) as running,
        Client(running, stream) as client,
    ):
        assert called(await client.turn([tool()])) == [TOOL]
        assert shown(app.requests[0].json) == [TOOL, TOOL]


async def test_another_process_goes_on_from_the_ledger(tmp_path: Path) -> None:
    policy = script(calling(1, 0), calling(0), Answer("Two orders."))
    async with upstream(policy) as app:
        async with (
            gateway(tmp_path, app, noise=profile(ABBREVIATED)) as running,
            Client(running, stream=False) as first,
        ):
            await first.turn([tool()])
        first.answer_calls()
        async with (
            gateway(tmp_path, app, noise=profile(ABBREVIATED)) as running,
            Client(running, stream=False) as second,
        ):
            second.messages = first.messages
            assert called(await second.turn([tool()])) == [TOOL]
        assert called(app.requests[1].json["messages"][1]) == [
            TOOL,
            true_and_phantom(app.requests[0].json)[0],
        ]
        assert shown(app.requests[1].json) == shown(app.requests[0].json)
