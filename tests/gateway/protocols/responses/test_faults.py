"""A provider of Responses out of sorts: what clients meet, and what they can go on from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import openai
import pytest

from crosswind.testing import Answer, Call, Dialogue, ScriptedProvider
from tests.gateway.protocols.responses.agent import function, output, user
from tests.gateway.proxy.test_faults import profile
from tests.gateway.servers import Running, gateway

TEXT = "The order has left the house and comes on Monday."
STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
ITEMS: Any = [user("Where is it?"), {"role": "assistant", "content": "Which one?"}, user("W1.")]


def policy(dialogue: Dialogue) -> Answer:
    if not dialogue.tools:
        return Answer(TEXT)
    return Answer(None, (Call("get_order", {"id": "W1"}), Call("get_order", {"id": "W2"})))


def sdk(running: Running) -> openai.AsyncOpenAI:
    base = f"{running.data}/s/one/v1"
    return openai.AsyncOpenAI(base_url=base, api_key="unused-but-long", max_retries=0)


async def ask(client: openai.AsyncOpenAI, stream: bool, **more: Any) -> Any:
    """A response, or the last event's and the events."""
    asked: Any = {"model": "m", "input": ITEMS} | more
    if not stream:
        return await client.responses.create(**asked)
    # The SDK's own helper refuses calls that share an id.
    last: Any = [event async for event in await client.responses.create(**asked, stream=True)][-1]
    return last.response


@pytest.mark.parametrize(
    ("operator", "raised"),
    [
        ("model.rate_limited", openai.RateLimitError),
        ("model.overloaded", openai.InternalServerError),
        ("model.context_length", openai.BadRequestError),
    ],
)
async def test_a_provider_that_refuses(tmp_path: Path, operator: str, raised: type[Exception]) -> None:
    async with (
        ScriptedProvider(policy) as app,
        gateway(tmp_path, app.url, profile=profile(operator, tmp_path)) as running,
        sdk(running) as client,
    ):
        with pytest.raises(raised):
            await ask(client, stream=False)
        again: Any = {"model": "m", "input": ITEMS, "extra_headers": {"x-stainless-retry-count": "1"}}
        assert (await client.responses.create(**again)).output_text == TEXT


@STREAMED
@pytest.mark.parametrize("operator", ["model.empty", "model.content_filter"])
async def test_a_provider_that_says_nothing(tmp_path: Path, operator: str, stream: bool) -> None:
    """Only where its client keeps the history: the provider knows of no such answer."""
    async with (
        ScriptedProvider(policy) as app,
        gateway(tmp_path, app.url, profile=profile(operator, tmp_path)) as running,
        sdk(running) as client,
    ):
        asked = await ask(client, stream, input="Where is it?")
        assert asked.output_text == TEXT and len(app.requests) == 1
        linked = await ask(client, stream, input="And now?", previous_response_id=asked.id)
        assert linked.output_text == TEXT and len(app.requests) == 2
        response = await ask(client, stream)
        assert response.output_text == "" and len(app.requests) == 2
        status = "incomplete" if operator == "model.content_filter" else "completed"
        assert response.status == status and response.model == "m"
        stored = await running.trajectory("one")
        assert [one["after"] is None for one in stored["events"]] == [True, False]
        assert stored["turns"][2]["error"]["type"] == operator


@STREAMED
@pytest.mark.parametrize(
    "operator",
    ["model.length_cut", "model.malformed_arguments", "model.unknown_tool", "model.duplicated_call_id"],
)
async def test_an_answer_that_comes_out_wrong(tmp_path: Path, operator: str, stream: bool) -> None:
    tools: Any = [function(name="get_order")]
    more: Any = {} if operator == "model.length_cut" else {"tools": tools}
    linked = operator in ("model.malformed_arguments", "model.unknown_tool")
    async with (
        ScriptedProvider(policy) as app,
        gateway(tmp_path, app.url, profile=profile(operator, tmp_path)) as running,
        sdk(running) as client,
    ):
        response = await ask(client, stream, **more)
        (turn,) = (await running.trajectory("one"))["turns"]
        delivered = json.loads(turn["delivered_view"])
        assert delivered != json.loads(turn["produced"]), "what was produced is on record as it was"
        made = [(one.call_id, one.name, one.arguments) for one in response.output if one.type != "message"]
        shown = [one for one in delivered["output"] if one["type"] != "message"]
        assert made == [(one["call_id"], one["name"], one["arguments"]) for one in shown]
        assert response.output_text == "".join(
            part["text"] for one in delivered["output"] for part in one.get("content", ())
        )
        assert response.status == delivered["status"]
        if linked:
            calls = [one for one in response.output if one.type == "function_call"]
            given = [output(call.call_id) for call in calls]
            await client.responses.create(model="m", input=given, previous_response_id=response.id)  # type: ignore[arg-type]
        assert not app.refusals


async def test_a_stream_that_the_provider_leaves(tmp_path: Path) -> None:
    async with (
        ScriptedProvider(policy) as app,
        gateway(tmp_path, app.url, profile=profile("model.stream_cut", tmp_path)) as running,
        sdk(running) as client,
    ):
        said, kinds = "", []
        async for event in await client.responses.create(model="m", input="Where is it?", stream=True):
            kinds.append(event.type)
            said += event.delta if event.type == "response.output_text.delta" else ""
        assert "response.completed" not in kinds and 0 < len(said) < len(TEXT)


@STREAMED
async def test_calls_that_the_provider_holds_keep_their_ids(tmp_path: Path, stream: bool) -> None:
    """It would miss the result of one of them."""
    tools: Any = [function(name="get_order")]
    name = profile("model.duplicated_call_id", tmp_path)
    async with (
        ScriptedProvider(policy) as app,
        gateway(tmp_path, app.url, profile=name) as running,
        sdk(running) as client,
    ):
        response = await ask(client, stream, input="Where is it?", tools=tools)
        given: Any = [output(one.call_id) for one in response.output if one.type == "function_call"]
        await client.responses.create(model="m", input=given, previous_response_id=response.id)
        assert len({one["call_id"] for one in given}) == 2 and not app.refusals
