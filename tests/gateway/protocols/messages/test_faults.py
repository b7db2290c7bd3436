"""Anthropic's provider out of sorts: what the real SDK meets, and what is on record."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anthropic
import pytest

from crosswind.testing.replies import JSON, SSE, Part, ReceivedRequest, Reply, chunks
from tests.gateway.protocols.messages.conversation import (
    EVENTS,
    MESSAGE,
    STREAM,
    THINKING,
    body,
    call,
    history,
    post,
    text,
)
from tests.gateway.protocols.messages.conversation import event as encoded
from tests.gateway.proxy.test_faults import profile
from tests.gateway.servers import Running, gateway, upstream

SAID = {**MESSAGE, "content": [THINKING, text("It comes on Monday, all of it.")], "stop_reason": "end_turn"}
CALLED = {**MESSAGE, "content": [call("toolu_1", "W17"), call("toolu_2", "W18")]}
STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])


def saying(message: dict[str, Any]) -> Reply:
    """The message, streamed where that is asked for."""

    async def reply(seen: ReceivedRequest) -> AsyncIterator[Part]:
        if not seen.json.get("stream"):
            yield 200, [JSON]
            yield json.dumps(message).encode()
            return
        yield 200, [SSE]
        yield encoded(EVENTS[0])
        for index, block in enumerate(message["content"]):
            yield encoded({"type": "content_block_start", "index": index, "content_block": block})
            yield encoded({"type": "content_block_stop", "index": index})
        ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        yield encoded({"type": "message_delta", "delta": ending, "usage": {"output_tokens": 7}})
        yield encoded({"type": "message_stop"})

    return reply


async def asked(running: Running, stream: bool) -> Any:
    base = f"{running.data}/s/one"
    async with anthropic.AsyncAnthropic(base_url=base, api_key="unused", max_retries=0) as client:
        given: Any = {"model": "claude", "max_tokens": 64, "messages": history(1)}
        if not stream:
            return await client.messages.create(**given)
        async with client.messages.stream(**given) as events:
            return await events.get_final_message()


@STREAMED
@pytest.mark.parametrize(
    ("operator", "raised", "kind"),
    [
        ("model.rate_limited", anthropic.RateLimitError, "rate_limit_error"),
        ("model.overloaded", anthropic.OverloadedError, "overloaded_error"),
        ("model.context_length", anthropic.BadRequestError, "invalid_request_error"),
    ],
)
async def test_a_provider_that_refuses(
    tmp_path: Path, operator: str, raised: type[anthropic.APIStatusError], kind: str, stream: bool
) -> None:
    async with (
        upstream(saying(SAID)) as app,
        gateway(tmp_path, app, profile=profile(operator, tmp_path)) as running,
    ):
        with pytest.raises(raised) as error:
            await asked(running, stream)
        assert error.value.type == kind and not app.requests
        assert ("retry-after" in error.value.response.headers) == (operator == "model.rate_limited")
        (turn,) = (await running.trajectory("one"))["turns"]
        assert (turn["error"]["source"], turn["error"]["type"]) == ("injected", operator)


@STREAMED
@pytest.mark.parametrize(
    ("operator", "stopped"), [("model.empty", "end_turn"), ("model.content_filter", "refusal")]
)
async def test_a_provider_that_says_nothing(
    tmp_path: Path, operator: str, stopped: str, stream: bool
) -> None:
    async with (
        upstream(saying(SAID)) as app,
        gateway(tmp_path, app, profile=profile(operator, tmp_path)) as running,
    ):
        answer = await asked(running, stream)
        assert (answer.content, answer.stop_reason, answer.role) == ([], stopped, "assistant")
        assert not app.requests


def checked(operator: str, answer: Any, message: dict[str, Any]) -> None:
    """The answer came out wrong in the way of the operator, and in no other."""
    calls = [block.id for block in answer.content if block.type == "tool_use"]
    names = {block.name for block in answer.content if block.type == "tool_use"}
    match operator:
        case "model.length_cut":
            thought, said = answer.content
            assert (thought.signature, answer.stop_reason) == (THINKING["signature"], "max_tokens")
            whole = message["content"][1]["text"]
            assert whole.startswith(said.text) and said.text != whole
        case "model.unknown_tool":
            assert calls == ["toolu_1", "toolu_2"] and len(names) == 2 and "get_order" in names
        case _:
            assert names == {"get_order"} and len(calls) == 2 and len(set(calls)) == 1


@STREAMED
@pytest.mark.parametrize("operator", ["model.length_cut", "model.unknown_tool", "model.duplicated_call_id"])
async def test_an_answer_that_comes_out_wrong(tmp_path: Path, operator: str, stream: bool) -> None:
    message = SAID if operator == "model.length_cut" else CALLED
    async with (
        upstream(saying(message)) as app,
        gateway(tmp_path, app, profile=profile(operator, tmp_path)) as running,
    ):
        checked(operator, await asked(running, stream), message)
        (turn,) = (await running.trajectory("one"))["turns"]
        assert json.loads(turn["produced"])["content"] == message["content"]
        assert turn["error"]["source"] == "injected" and turn["delivered_view"] is not None


@STREAMED
async def test_malformed_arguments_come_in_streams_alone(tmp_path: Path, stream: bool) -> None:
    """In a plain answer they are an object, which can't be malformed."""
    async with (
        upstream(saying(CALLED)) as app,
        gateway(tmp_path, app, profile=profile("model.malformed_arguments", tmp_path)) as running,
    ):
        answer = await post(running, body(*history(1), stream=stream), "one")
        if not stream:
            assert answer.json() == CALLED
            return
        lines = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]
        told = [line["delta"]["partial_json"] for line in lines if line["type"] == "content_block_delta"]
        whole = [json.dumps(block["input"], separators=(",", ":")) for block in CALLED["content"]]
        cut = [one for one, true in zip(told, whole, strict=True) if one != true]
        assert len(cut) == 1 and any(true.startswith(cut[0]) for true in whole)
        assert lines[-1]["type"] == "message_stop"


async def test_a_stream_that_the_provider_leaves(tmp_path: Path) -> None:
    async with (
        upstream(chunks(*STREAM)) as app,
        gateway(tmp_path, app, profile=profile("model.stream_cut", tmp_path)) as running,
    ):
        answer = await post(running, body(*history(1), stream=True), "one")
        assert answer.content == b"".join(STREAM)[: len(answer.content)] != b"".join(STREAM)
        assert b"content_block_delta" in answer.content and b"message_delta" not in answer.content
        (turn,) = (await running.trajectory("one"))["turns"]
        assert json.loads(turn["produced"]) == MESSAGE, "what was sampled is recorded whole"
