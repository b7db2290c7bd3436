"""The closed world on Responses: the client meets its own tools only, whatever the policy was shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crosswind.testing import Answer, Call, CallItem, Dialogue, ResultItem, ScriptedProvider, script
from tests.gateway.noise.test_tool_view import ABBREVIATED, DUPLICATE, MISMATCH, TOOL, profile
from tests.gateway.protocols.responses.agent import (
    REASONING,
    Client,
    called,
    calling,
    fine,
    function,
    kinds,
    names,
    user,
)
from tests.gateway.servers import gateway

WAYS = pytest.mark.parametrize(
    ("stream", "linked"),
    [(False, False), (True, False), (False, True), (True, True)],
    ids=["plain", "streamed", "plain-linked", "streamed-linked"],
)
STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])


@pytest.fixture
def closed(tmp_path: Path) -> Callable[[str], dict[str, Any]]:
    """Settings under which the tools are shown otherwise."""

    def written(operator: str) -> dict[str, Any]:
        path = tmp_path / "closed.yaml"
        path.write_text(profile(operator))
        return {"profile": str(path)}

    return written


@WAYS
async def test_a_renamed_tool_has_its_own_name_for_each_side(
    tmp_path: Path, closed: Any, stream: bool, linked: bool
) -> None:
    async with (
        ScriptedProvider(script(calling(0), Answer("Two orders."))) as app,
        gateway(tmp_path, app.url, **closed(ABBREVIATED)) as running,
        Client(running, stream=stream, linked=linked) as client,
    ):
        assert called(await client.turn(user("What did ACME order?"))) == [TOOL]
        choice: Any = {"type": "function", "name": TOOL}
        allowed: Any = {"type": "allowed_tools", "mode": "auto", "tools": [choice]}
        last = await client.answer_calls(tool_choice=allowed)
        fine(app)
        first, second = app.bodies("/v1/responses")
        true, _ = names(app.dialogues[0])
        assert second["tools"] == first["tools"]
        assert second["tool_choice"]["tools"][0]["name"] == true
        assert last.tool_choice.tools[0]["name"] == TOOL
        assert last.output_text == "Two orders."
        if linked:
            assert last.previous_response_id == app.bodies("/v1/responses")[1]["previous_response_id"]
        else:
            assert [one["name"] for one in second["input"] if one.get("type") == "function_call"] == [true]


@WAYS
async def test_a_phantom_alone_is_answered_inside(
    tmp_path: Path, closed: Any, stream: bool, linked: bool
) -> None:
    policy = script(
        calling(1, text="Let me see.", reasoning="First the phantom."),
        calling(0, text="So then.", reasoning="Then the tool."),
        Answer("Two orders.", reasoning="That's it."),
        Answer("Nothing else."),
    )
    async with (
        ScriptedProvider(policy) as app,
        gateway(tmp_path, app.url, **closed(ABBREVIATED)) as running,
        Client(running, stream=stream, linked=linked, reasoning=REASONING) as client,
    ):
        first = await client.turn(user("What did ACME order?"))
        assert called(first) == [TOOL]
        assert first.output_text == "Let me see.So then."
        assert first.usage.output_tokens > 8
        assert (await client.answer_calls()).output_text == "Two orders."
        assert (await client.turn(user("And what else?"))).output_text == "Nothing else."
        assert len(app.requests) == 4
        fine(app)
        if linked:
            assert app.bodies("/v1/responses")[2]["previous_response_id"] != first.id
        turns = (await running.trajectory("one"))["turns"]
        assert turns[0]["response_id"] == first.id
        assert turns[0]["usage_injected"]["calls"] == 1
        assert turns[0]["inner"][0]["calls"][0]["name"] == TOOL
        assert json.loads(turns[0]["delivered_view"])["id"] == first.id


@WAYS
async def test_real_and_phantom_calls_in_one_answer(
    tmp_path: Path, closed: Any, stream: bool, linked: bool
) -> None:
    policy = script(calling(1, 0, 1, 0, 1, reasoning="Many at once."), Answer("Two orders."))
    async with (
        ScriptedProvider(policy) as app,
        gateway(tmp_path, app.url, **closed(ABBREVIATED)) as running,
        Client(running, stream=stream, linked=linked, reasoning=REASONING) as client,
    ):
        first = await client.turn(user("What did ACME order?"))
        assert kinds(first) == ["reasoning", "function_call", "function_call"]
        assert called(first) == [TOOL, TOOL]
        await client.answer_calls()
        await client.turn(user("And what else?"))
        assert len(app.requests) == 3, "no inner round"
        fine(app)
        true, phantom = names(app.dialogues[0])
        made = [one.name for one in app.dialogues[1].items if isinstance(one, CallItem)]
        assert made == [phantom, true, phantom, true, phantom]
        given = [one.id for one in app.dialogues[1].items if isinstance(one, ResultItem)]
        assert sorted(given) == sorted(one.id for one in app.dialogues[1].items if isinstance(one, CallItem))


@STREAMED
async def test_reasoning_goes_with_its_call(tmp_path: Path, closed: Any, stream: bool) -> None:
    """Sealed reasoning whose only call is a phantom is the policy's alone; it comes back with the call."""
    policy = script(
        calling(1, reasoning="Of the phantom."), calling(0, reasoning="Of the tool."), Answer("Two orders.")
    )
    sealed: Any = {"store": False, "include": ["reasoning.encrypted_content"], "reasoning": REASONING}
    async with (
        ScriptedProvider(policy) as app,
        gateway(tmp_path, app.url, **closed(ABBREVIATED)) as running,
        Client(running, stream=stream, **sealed) as client,
    ):
        first = await client.turn(user("What did ACME order?"))
        assert kinds(first) == ["reasoning", "function_call"]
        assert first.output[0].summary[0].text == "Of the tool."
        await client.answer_calls()
        fine(app)
        sent = app.bodies("/v1/responses")[2]["input"]
        assert [one.get("type", "message") for one in sent] == [
            "message",
            *["reasoning", "function_call", "function_call_output"] * 2,
        ]
        assert all(one["encrypted_content"] for one in sent if one.get("type") == "reasoning")


@STREAMED
async def test_a_phantom_that_is_called_again_and_again_leaves(
    tmp_path: Path, closed: Any, stream: bool
) -> None:
    again = [calling(1, text=f"Try {number}.") for number in range(4)]
    last = Answer("Five.", (Call(TOOL, {"customer": "ACME"}),))
    async with (
        ScriptedProvider(script(*again, last, Answer("Done."))) as app,
        gateway(tmp_path, app.url, **closed(ABBREVIATED)) as running,
        Client(running, stream=stream) as client,
    ):
        response = await client.turn(user("What did ACME order?"))
        assert len(app.requests) == 5
        assert called(response) == [] and response.status == "completed"
        assert response.output_text == "Try 0.Try 1.Try 2.Try 3.Five."
        shown = [[one.name for one in dialogue.tools] for dialogue in app.dialogues]
        assert TOOL in shown[3] and TOOL not in shown[4]
        await client.turn(user("And now?"))
        assert TOOL not in [one.name for one in app.dialogues[5].tools]
        fine(app)


@WAYS
async def test_a_wrong_type_is_refused_inside_once(
    tmp_path: Path, closed: Any, stream: bool, linked: bool
) -> None:
    def wrongly(dialogue: Dialogue) -> Answer:
        properties = dialogue.tools[0].parameters["properties"]
        assert properties["limit"]["type"] == "string" or properties["customer"]["type"] == "integer"
        values = {"string": "3", "integer": 7}
        return Answer(
            "Hm.", (Call(TOOL, {name: values[one["type"]] for name, one in properties.items()}),), "Why not."
        )

    right = Answer(None, (Call(TOOL, {"customer": "ACME", "limit": 3}),), "Now rightly.")
    async with (
        ScriptedProvider(script(wrongly, right, Answer("Done."))) as app,
        gateway(tmp_path, app.url, **closed(MISMATCH)) as running,
        Client(running, stream=stream, linked=linked, reasoning=REASONING) as client,
    ):
        response = await client.turn(user("What did ACME order?"))
        (call,) = [item for item in response.output if item.type == "function_call"]
        assert json.loads(call.arguments) == {"customer": "ACME", "limit": 3}
        assert "must be of type" in app.dialogues[1].items[-1].text
        await client.answer_calls()
        fine(app)


@STREAMED
async def test_a_true_duplicate_goes_to_the_agent_as_it_is(tmp_path: Path, closed: Any, stream: bool) -> None:
    async with (
        ScriptedProvider(script(Answer(None, (Call(TOOL, {"customer": "ACME"}),)))) as app,
        gateway(tmp_path, app.url, **closed(DUPLICATE)) as running,
        Client(running, stream=stream) as client,
    ):
        assert called(await client.turn(user("What did ACME order?"))) == [TOOL]
        assert [one.name for one in app.dialogues[0].tools] == [TOOL, TOOL]


@pytest.mark.parametrize("linked", [False, True])
async def test_another_process_goes_on_from_the_ledger(tmp_path: Path, closed: Any, linked: bool) -> None:
    given = closed(ABBREVIATED)
    policy = script(calling(1, text="Hm."), calling(1, 0), calling(0), Answer("Two orders."))
    async with ScriptedProvider(policy) as app:
        async with (
            gateway(tmp_path, app.url, **given) as running,
            Client(running, stream=False, linked=linked) as first,
        ):
            await first.turn(user("What did ACME order?"))
        for _ in range(2):
            async with (
                gateway(tmp_path, app.url, **given) as running,
                Client(running, stream=False, linked=linked) as client,
            ):
                client.items, client.response = first.items, first.response
                await client.answer_calls()
                first = client
        assert first.response.output_text == "Two orders."
        fine(app)


async def test_a_string_of_input_goes_on_as_an_item(tmp_path: Path, closed: Any) -> None:
    async with (
        ScriptedProvider(script(calling(1), calling(0))) as app,
        gateway(tmp_path, app.url, **closed(ABBREVIATED)) as running,
        Client(running, stream=False) as client,
    ):
        response = await client.sdk.responses.create(
            model="m",
            input="What did ACME order?",
            tools=[function()],  # type: ignore[list-item]
        )
        assert called(response) == [TOOL]
        fine(app)
        assert app.bodies("/v1/responses")[1]["input"][0] == user("What did ACME order?")


async def test_what_the_upstream_holds_is_made_whole_after_the_noise_was_stopped(
    tmp_path: Path, closed: Any
) -> None:
    async with (
        ScriptedProvider(script(calling(1, 0), Answer("Two orders."))) as app,
        gateway(tmp_path, app.url, **closed(ABBREVIATED)) as running,
        Client(running, stream=False, linked=True) as client,
    ):
        await client.turn(user("What did ACME order?"))
        await running.api("PUT", "/api/noise", {"enabled": False})
        assert (await client.answer_calls()).output_text == "Two orders."
        fine(app)
        assert [one.name for one in app.dialogues[1].tools] == [TOOL]
