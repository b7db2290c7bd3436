"""What only the `anthropic` SDK does: counts of tokens, models, and its helper for streams."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import anthropic
import pytest

from crosswind.testing import Answer, Dialogue, ProviderError, ScriptedProvider
from tests.clients import shop
from tests.gateway.agents import MessagesAgent, open_session
from tests.gateway.servers import gateway

TOOLS: Any = [
    {"name": name, "description": words, "input_schema": schema}
    for name, (words, schema) in shop.TOOLS.items()
]


async def test_the_synchronous_client(tmp_path: Path) -> None:
    async with (
        ScriptedProvider(shop.policy) as app,
        gateway(tmp_path, app.url, upstream_key="sk-upstream") as running,
    ):
        keys = await open_session(running, MessagesAgent)

        def use() -> tuple[Any, int, list[str]]:
            with anthropic.Anthropic(**keys) as client:
                messages: Any = [{"role": "user", "content": shop.QUESTIONS[0]}]
                given: Any = {"model": "claude", "max_tokens": 64, "messages": messages, "tools": TOOLS}
                with client.messages.stream(**given) as stream:
                    kinds = [event.type for event in stream]
                    message = stream.get_final_message()
                counted = client.messages.count_tokens(model="claude", messages=messages, tools=TOOLS)
                return message, counted.input_tokens, kinds

        message, counted, kinds = await asyncio.to_thread(use)
        (call,) = (block for block in message.content if block.type == "tool_use")
        assert (call.name, call.input) == ("get_order", {"order_id": "W17"})
        assert message.usage.input_tokens == counted and kinds[-1] == "message_stop"


async def test_models_are_anthropics(tmp_path: Path) -> None:
    async with (
        ScriptedProvider(shop.policy) as app,
        gateway(tmp_path, app.url, upstream_key="sk-upstream") as running,
        anthropic.AsyncAnthropic(**await open_session(running, MessagesAgent)) as client,
    ):
        assert {model.type async for model in client.models.list()} == {"model"}


async def test_an_error_within_a_stream(tmp_path: Path) -> None:
    def failing(_: Dialogue) -> Answer:
        return Answer("a b c d", error=ProviderError(529, "Overloaded"), pieces=4)

    messages: Any = [{"role": "user", "content": "hi"}]
    async with (
        ScriptedProvider(failing) as app,
        gateway(tmp_path, app.url, upstream_key="sk-upstream") as running,
        anthropic.AsyncAnthropic(**await open_session(running, MessagesAgent)) as client,
    ):
        with pytest.raises(anthropic.APIStatusError, match="Overloaded"):
            async with client.messages.stream(model="c", max_tokens=9, messages=messages) as stream:
                said = await anext(aiter(stream.text_stream))
                assert said == "a"
                await stream.until_done()
