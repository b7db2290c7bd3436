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


GREAT = 10**30
HI = {"model": "tiny", "messages": [{"role": "user", "content": "hi"}]}


def likely(**entry: Any) -> dict[str, Any]:
    told = {"token": "token_id:7", "logprob": -1.0} | entry
    return {
        "token_ids": [1],
        "logprobs": {"content": [{"token": "t", "logprob": -1, "top_logprobs": [told]}]},
    }


def tokens(*names: str) -> dict[str, Any]:
    top = [{"token": name, "logprob": -1.0} for name in names]
    return {"token_ids": [1], "logprobs": {"content": [{"token": "t", "logprob": -1, "top_logprobs": top}]}}


CHOICES: dict[str, dict[str, Any]] = {
    "index": {"index": GREAT},
    "index below 0": {"index": -GREAT},
    "token ids": {"token_ids": [GREAT]},
    "token ids of 64 bits": {"token_ids": [2**40]},
    "token ids that are none": {"token_ids": ["a", None, 1.5]},
    "a log-probability": {
        "token_ids": [1],
        "logprobs": {"content": [{"token": "t", "logprob": 10**400, "top_logprobs": []}]},
    },
    "a likely token's": likely(logprob=-1e300),
    "a likely token": likely(token=f"token_id:{GREAT}"),
    "a likely token of many digits": likely(token="token_id:" + "9" * 5000),
    "many likely tokens": tokens(*(f"token_id:{one}" for one in range(300))),
    "versions": {"token_ids": [1], "weight_versions": [{"version": "v", "start": 0, "end": GREAT}]},
}
ODD_NUMBERS = {
    **{name: answer(choices=[answer()["choices"][0] | one]) for name, one in CHOICES.items()},
    "usage": answer(usage={"prompt_tokens": GREAT, "completion_tokens": 10**400}),
    "created": answer(created=GREAT),
    "the prompt's ids": answer(prompt_token_ids=[GREAT]),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", ODD_NUMBERS)
async def test_a_turn_with_them_is_recorded(tmp_path: Path, name: str, stream: bool) -> None:
    came = {"prompt_token_ids": [1, 2], **ODD_NUMBERS[name]}
    body = json.dumps(came).encode()
    if stream:
        [choice] = came["choices"]
        delta = {"delta": choice["message"]} | {key: one for key, one in choice.items() if key != "message"}
        body = json.dumps(came | {"choices": [delta]}).encode()
    reply = chunks(b"data: " + body + b"\n\n", DONE) if stream else plain(body)
    async with upstream(reply) as app, gateway(tmp_path, app) as running:
        got = await running.chat(HI | {"stream": stream}, "new")
        assert got.status_code == 200 and body in got.content
        (turn,) = (await running.trajectory("new"))["turns"]
        assert turn["fitness"] != "fit" and turn["durable"] == "yes"
        assert json.loads(turn["produced"])["choices"][0]["message"]["content"] == "hello"
        if name.startswith("index"):
            assert json.loads(turn["produced"])["choices"][0]["index"] in (GREAT, -GREAT)
        assert len(turn["completions"]) == (0 if name.startswith("index") else 1)
