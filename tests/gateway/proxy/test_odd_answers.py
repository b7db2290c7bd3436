"""Answers that are hardly any, where noise is to act on them: they go to the client as they came."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from crosswind.testing.replies import DONE, chunks, plain
from tests.gateway.closed_world import ABBREVIATED, TOOL, profile, tool
from tests.gateway.protocols.messages import conversation as messages
from tests.gateway.protocols.responses import conversation as responses
from tests.gateway.servers import Running, answer, delta, event, gateway, upstream

FUNCTION = tool()["function"]
CHOICE = {"index": 0, "message": {"role": "assistant", "content": "Two."}, "finish_reason": "stop"}
JUNK = (True, 7, "x", {"a": 1}, [None], [["x"]])
Ask = Callable[[Running], Awaitable[httpx.Response]]


async def chat(running: Running) -> httpx.Response:
    return await running.chat({"model": "m", "messages": [messages.user("Hello?")], "tools": [tool()]}, "one")


async def of_messages(running: Running) -> httpx.Response:
    named = {"name": TOOL, "description": FUNCTION["description"]}
    tools = [{**named, "input_schema": FUNCTION["parameters"]}]
    return await messages.post(running, messages.body(messages.user("Hello?"), tools=tools), "one")


async def of_responses(running: Running) -> httpx.Response:
    asked = {"model": "m", "input": "Hello?", "tools": [{"type": "function", **FUNCTION}]}
    return await responses.post(running, asked, "one")


ANSWERS: list[tuple[Ask, Any]] = [
    *((chat, answer(choices=[CHOICE | {"message": junk}])) for junk in JUNK),
    *((chat, answer(choices=[junk, CHOICE])) for junk in JUNK),
    *((chat, answer(choices=[CHOICE | {"message": {"tool_calls": junk}}])) for junk in JUNK),
    *((of_messages, messages.MESSAGE | {"content": junk}) for junk in JUNK),
    *((of_responses, responses.RESPONSE | {"output": junk}) for junk in JUNK),
]


@pytest.mark.parametrize("operator", [ABBREVIATED, "model.unknown_tool", "model.duplicated_call_id"])
async def test_they_go_to_the_client_as_they_came(tmp_path: Path, operator: str) -> None:
    async with upstream() as app, gateway(tmp_path, app, noise=profile(operator)) as running:
        for ask, odd in ANSWERS:
            app.steps[:] = [plain(odd)]
            told = await ask(running)
            assert (told.status_code, told.json()) == (200, odd)
        turns = (await running.trajectory("one"))["turns"]
        assert len(turns) == len(ANSWERS), "each is recorded"


@pytest.mark.parametrize("junk", JUNK)
async def test_a_further_rounds_chunk_without_a_delta_goes_on(tmp_path: Path, junk: Any) -> None:
    call = {"index": 0, "id": "p1", "type": "function", "function": {"name": TOOL, "arguments": "{}"}}
    called = event([{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}])
    odd = event([{"index": 0, "delta": junk, "finish_reason": None}])
    later = [odd, event([delta("Two.")]), event([delta(finish="stop")]), DONE]
    async with (
        upstream(chunks(called, DONE), chunks(*later)) as app,
        gateway(tmp_path, app, noise=profile(ABBREVIATED)) as running,
    ):
        asked = {"model": "m", "messages": [messages.user("Hello?")], "tools": [tool()], "stream": True}
        told = await running.chat(asked, "one")
        assert len(app.requests) == 2
        assert b'"Two."' in told.content and told.content.endswith(DONE)


@pytest.mark.parametrize("asked", [True, False], ids=["asked", "unasked"])
async def test_a_stream_that_cannot_be_written_anew_goes_as_it_came(tmp_path: Path, asked: bool) -> None:
    """Its message has no text; some servers stream whether or not they were asked to."""
    textless = responses.said("") | {"content": [{"type": "output_text", "annotations": []}]}
    odd = responses.RESPONSE | {"output": [textless, responses.call("call_1", "W17", id="fc_1")]}
    stream = responses.event({"type": "response.completed", "sequence_number": 0, "response": odd})
    async with (
        upstream(chunks(stream)) as app,
        gateway(tmp_path, app, noise=profile("model.unknown_tool")) as running,
    ):
        request = responses.body("Hello?", stream=asked)
        told = await responses.post(running, request, "one")
        assert (told.status_code, told.content) == (200, stream)
        assert len((await running.trajectory("one"))["turns"]) == 1


async def test_halves_of_an_emoji_in_two_chunks_are_one_on_record(tmp_path: Path) -> None:
    """Servers that count in UTF-16 cut there; strict decoders read neither half."""
    parts = [event([delta(f"{half} Fair wind.")]) for half in ("\ud83d", "\ude00")]
    assert all(b"\\ud83d" in part or b"\\ude00" in part for part in parts)
    streamed = chunks(parts[0], parts[1], event([delta(finish="stop")]), DONE)
    half = answer(choices=[CHOICE | {"message": {"role": "assistant", "content": "\ud83d"}}])
    async with upstream(streamed, plain(half)) as app, gateway(tmp_path, app) as running:
        body = {"model": "m", "messages": [messages.user("Hello?")]}
        for number, stream in enumerate((True, False)):
            await running.chat(body | {"stream": stream}, f"s{number}")
        for number, said in enumerate(("\ud83d Fair wind.\ude00 Fair wind.", "\ud83d")):
            (turn,) = (await running.trajectory(f"s{number}"))["turns"]
            message = json.loads(turn["produced"])["choices"][0]["message"]
            assert (message["content"], turn["finish_reason"]) == (said, "stop")
