"""Injected provider errors in Responses form: what a client can go on from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openai
import pytest

from tests.gateway.protocols.responses.conversation import result
from tests.gateway.proxy.faulty import KEPT, KEY, RESPONSES, STREAMED, TEXT, serving


async def ask(client: openai.AsyncOpenAI, stream: bool, **more: Any) -> Any:
    """A response; the last event's, where it is streamed."""
    asked: Any = {"model": "m", "input": KEPT} | more
    if not stream:
        return await client.responses.create(**asked)
    # The SDK's own helper refuses calls that share an id.
    last: Any = [event async for event in await client.responses.create(**asked, stream=True)][-1]
    return last.response


@STREAMED
@pytest.mark.parametrize("operator", ["model.empty", "model.content_filter"])
async def test_blank_answers_are_for_clients_that_keep_the_history(
    tmp_path: Path, operator: str, stream: bool
) -> None:
    """The provider knows of no such answer."""
    async with (
        serving(tmp_path, operator) as (app, running),
        openai.AsyncOpenAI(base_url=f"{running.data}/s/one/v1", **KEY) as client,
    ):
        first = await ask(client, stream, input="Where is it?")
        linked = await ask(client, stream, input="And now?", previous_response_id=first.id)
        assert (first.output_text, linked.output_text) == (TEXT, TEXT)
        response = await ask(client, stream)
        assert response.output_text == "" and len(app.requests) == 2 and response.model == "m"
        stored = await running.trajectory("one")
        assert [one["after"] is None for one in stored["events"]] == [True, False]
        assert stored["turns"][2]["error"]["type"] == operator


@STREAMED
@pytest.mark.parametrize(
    "operator", ["model.malformed_arguments", "model.unknown_tool", "model.duplicated_call_id"]
)
async def test_a_client_can_go_on_by_id_from_calls_that_came_out_wrong(
    tmp_path: Path, operator: str, stream: bool
) -> None:
    """Their ids stay, where the provider holds them: it would miss the result of one of them."""
    async with (
        serving(tmp_path, operator) as (_, running),
        openai.AsyncOpenAI(base_url=f"{running.data}/s/one/v1", **KEY) as client,
    ):
        response = await ask(client, stream, input="Where is it?", tools=RESPONSES.tools)
        ids = [one.call_id for one in response.output if one.type == "function_call"]
        given: Any = [result(call_id, "shipped") for call_id in ids]
        await client.responses.create(model="m", input=given, previous_response_id=response.id)
        assert len(set(ids)) == 2
