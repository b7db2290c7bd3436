"""What the `openai` SDK does only on Responses: its helper for streams, and parsed output."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import openai
from pydantic import BaseModel

from crosswind.testing import Answer, Dialogue, ProviderError, ScriptedProvider
from tests.clients import shop
from tests.gateway.agents import ResponsesAgent, open_session
from tests.gateway.dialogue import PROFILE
from tests.gateway.servers import gateway

TOOLS: Any = [
    {"type": "function", "name": name, "description": words, "parameters": schema, "strict": True}
    for name, (words, schema) in shop.TOOLS.items()
]


async def test_the_synchronous_client_and_its_events(tmp_path: Path) -> None:
    async with (
        ScriptedProvider(shop.policy) as app,
        gateway(tmp_path, app.url, upstream_key="sk-upstream") as running,
    ):
        keys = await open_session(running, ResponsesAgent)

        def use() -> tuple[Any, Any]:
            with openai.OpenAI(**keys) as client:
                given: Any = {"model": "m", "input": shop.QUESTIONS[0], "tools": TOOLS}
                with client.responses.stream(**given) as stream:
                    return client.responses.create(**given), list(stream)

        response, events = await asyncio.to_thread(use)
        (call,) = (item for item in response.output if item.type == "function_call")
        assert (call.name, json.loads(call.arguments)) == ("get_order", {"order_id": "W17"})
        assert [one.sequence_number for one in events] == list(range(len(events)))
        assert events[-1].type == "response.completed"
        (again,) = (item for item in events[-1].response.output if item.type == "function_call")
        assert (again.name, again.arguments) == (call.name, call.arguments)


class Order(BaseModel):
    """What is known of an order."""

    order_id: str
    status: str


async def test_structured_output_is_parsed(tmp_path: Path) -> None:
    told = Order(order_id="W17", status="shipped")
    async with (
        ScriptedProvider(lambda _: Answer(told.model_dump_json())) as app,
        gateway(tmp_path, app.url, noise=PROFILE, upstream_key="sk-upstream") as running,
        openai.AsyncOpenAI(**await open_session(running, ResponsesAgent)) as client,
    ):
        parsed = await client.responses.parse(model="m", input=shop.QUESTIONS[0], text_format=Order)
        assert parsed.output_parsed == told
        (sent,) = app.bodies("/v1/responses")
        assert sent["text"]["format"]["strict"] is True
        assert sent["text"]["format"]["schema"]["properties"].keys() == {"order_id", "status"}
        assert sent["input"] != shop.QUESTIONS[0]


async def test_a_failure_within_a_stream(tmp_path: Path) -> None:
    def failing(_: Dialogue) -> Answer:
        return Answer("a b c d", error=ProviderError(500, "Overloaded"), pieces=6)

    async with (
        ScriptedProvider(failing) as app,
        gateway(tmp_path, app.url, upstream_key="sk-upstream") as running,
        openai.AsyncOpenAI(**await open_session(running, ResponsesAgent)) as client,
    ):
        stream = await client.responses.create(model="m", input="hi", stream=True)
        events = [one async for one in stream]
        last: Any = events[-1]
        assert last.type == "response.failed" and last.response.error.message == "Overloaded"
