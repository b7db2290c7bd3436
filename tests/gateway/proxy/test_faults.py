"""Faults of the link and of the provider: what real SDKs meet, what is on record, and that a retry helps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import anthropic
import httpx
import openai
import pytest
import uvloop
from anthropic.types import RawMessageStreamEvent
from openai.types.responses import ResponseStreamEvent
from pydantic import Field, TypeAdapter

from crosswind.gateway.http.sse import EventSplitter
from crosswind.gateway.protocols.messages.answer import MessagesAnswer
from crosswind.testing import Answer, Call, ScriptedProvider
from crosswind.testing.replies import CUT, chunks
from tests.gateway.protocols.messages import conversation as messages
from tests.gateway.protocols.responses import conversation as responses
from tests.gateway.proxy.faulty import (
    CHAT,
    EACH,
    MESSAGES,
    RESPONSES,
    RETRY,
    STREAMED,
    TEXT,
    Protocol,
    answer,
    profile,
    serving,
    turns,
)
from tests.gateway.servers import Running, connection, gateway, upstream


@EACH
@pytest.mark.parametrize(
    ("operator", "stream"),
    [
        ("transport.hang", False),
        ("transport.reset", False),
        ("transport.reset", True),
        ("transport.truncated_body", False),
        ("transport.sse_cut", True),
    ],
)
async def test_a_broken_link_and_a_retry(
    tmp_path: Path, protocol: Protocol, operator: str, stream: bool
) -> None:
    async with serving(tmp_path, operator) as (_, running):
        with pytest.raises(protocol.broken):
            await protocol.ask(running, stream=stream)
        assert (await protocol.ask(running, stream=stream, retry=True)).text == TEXT
        first, second = await turns(running)
        assert [(one["index"], one["attempt"]) for one in (first, second)] == [(0, 0), (0, 1)]
        assert (first["error"]["source"], first["error"]["type"]) == ("injected", operator)
        assert (first["delivered"], second["delivered"]) == ("no", "yes") and second["error"] is None
        assert (first["upstream_status"] is None) == (first["produced"] is None)
        for turn in (first, second):
            assert turn["produced"] is None or protocol.read_raw(turn["produced"]).text == TEXT


@EACH
async def test_a_stream_is_cut_within_an_event(tmp_path: Path, protocol: Protocol) -> None:
    async with serving(tmp_path, "transport.sse_cut") as (_, running):
        got = b""
        with pytest.raises(httpx.TransportError):
            async with running.http.stream("POST", **protocol.request(running, stream=True)) as stream:
                async for chunk in stream.aiter_raw():
                    got += chunk
        assert got and not got.endswith(b"\n\n")


@EACH
@STREAMED
@pytest.mark.parametrize(
    "operator", ["transport.bandwidth", "transport.sse_stall", "transport.first_token_delay"]
)
async def test_a_slow_answer_comes_whole(
    tmp_path: Path, protocol: Protocol, operator: str, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []

    async def note(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("crosswind.gateway.proxy.response_sink.sleep", note)
    async with serving(tmp_path, operator) as (_, running):
        assert (await protocol.ask(running, stream=stream)).text == TEXT
        assert (sum(waited) > 0.05) == (stream or operator == "transport.bandwidth")
        (turn,) = await turns(running)
        assert (turn["error"], turn["delivered"]) == (None, "yes")
        assert protocol.read_raw(turn["produced"]).text == TEXT


@EACH
async def test_a_request_that_is_delivered_twice(tmp_path: Path, protocol: Protocol) -> None:
    async with serving(tmp_path, "transport.duplicated_delivery") as (app, running):
        assert (await protocol.ask(running)).text == TEXT
        assert len(app.requests) == 2 and app.requests[0].body == app.requests[1].body
        assert len(await turns(running)) == 1


async def test_another_content_type(tmp_path: Path) -> None:
    async with serving(tmp_path, "transport.wrong_content_type") as (_, running):
        request = CHAT.request(running)
        first = await running.http.post(**request)
        second = await running.http.post(**request | {"headers": request["headers"] | RETRY})
        labels = [one.headers["content-type"].startswith("application/json") for one in (first, second)]
        assert labels == [False, True] and CHAT.read_raw(first.text).text == TEXT
        assert (await turns(running))[0]["error"]["type"] == "transport.wrong_content_type"


@pytest.mark.parametrize("markers", [False, True])
async def test_a_status_on_the_way_names_us_only_where_the_operator_asks_for_it(
    tmp_path: Path, markers: bool
) -> None:
    async with serving(tmp_path, "transport.status", markers=markers) as (app, running):
        injected = await running.http.post(**CHAT.request(running))
        assert injected.status_code >= 500 and "crosswind" not in injected.text.lower()
        assert not app.requests, "nobody was asked"
        assert injected.headers.get("x-crosswind-injected") == ("transport.status" if markers else None)
        ours = (await running.http.get(f"{running.data}/nowhere")).headers
        assert ours.get("x-crosswind-error") == ("not_found" if markers else None)
        assert (await CHAT.ask(running, retry=True)).text == TEXT


@EACH
@STREAMED
@pytest.mark.parametrize(
    ("operator", "status", "anthropic_type"),
    [
        ("model.rate_limited", 429, "rate_limit_error"),
        ("model.overloaded", None, "overloaded_error"),
        ("model.context_length", 400, "invalid_request_error"),
    ],
)
async def test_a_provider_that_refuses(
    tmp_path: Path, protocol: Protocol, operator: str, status: int | None, anthropic_type: str, stream: bool
) -> None:
    async with serving(tmp_path, operator) as (app, running):
        with pytest.raises(protocol.refused) as refused:
            await protocol.ask(running, stream=stream)
        error: Any = refused.value
        assert error.status_code == (status or protocol.overloaded) and not app.requests
        assert ("retry-after" in error.response.headers) == (status == 429)
        if protocol is MESSAGES:
            assert error.type == anthropic_type
        elif operator == "model.context_length":
            param = "input" if protocol is RESPONSES else "messages"
            assert (error.code, error.param) == ("context_length_exceeded", param)
        assert (await protocol.ask(running, stream=stream, retry=True)).text == TEXT
        first, second = await turns(running)
        assert (first["error"]["source"], first["error"]["type"]) == ("injected", operator)
        assert (second["index"], second["attempt"], second["error"]) == (0, 1, None)


@EACH
@STREAMED
@pytest.mark.parametrize(
    ("operator", "finishes"),
    [
        ("model.empty", ("stop", "end_turn", "completed")),
        ("model.content_filter", ("content_filter", "refusal", "content_filter")),
    ],
)
async def test_a_provider_that_says_nothing(
    tmp_path: Path, protocol: Protocol, operator: str, finishes: tuple[str, ...], stream: bool
) -> None:
    async with serving(tmp_path, operator) as (app, running):
        seen = await protocol.ask(running, stream=stream)
        finish = finishes[[CHAT, MESSAGES, RESPONSES].index(protocol)]
        assert (seen.text, seen.calls, seen.finish) == ("", [], finish)
        (turn,) = await turns(running)
        assert protocol.read_raw(turn["delivered_view"]) == seen
        assert turn["error"]["type"] == operator and not app.requests


@EACH
@STREAMED
@pytest.mark.parametrize(
    "operator",
    ["model.length_cut", "model.malformed_arguments", "model.unknown_tool", "model.duplicated_call_id"],
)
async def test_an_answer_that_comes_out_wrong(
    tmp_path: Path, protocol: Protocol, operator: str, stream: bool
) -> None:
    async with serving(tmp_path, operator) as (_, running):
        seen = await protocol.ask(running, stream=stream, tools=operator != "model.length_cut")
        (turn,) = await turns(running)
    produced = protocol.read_raw(turn["produced"])
    if protocol is MESSAGES and operator == "model.malformed_arguments" and not stream:
        # A plain message has its arguments as an object, which can't be malformed.
        assert seen == produced and turn["error"] is None
        return
    assert turn["error"]["type"] == operator and produced.text in ("", TEXT)
    ids, names, arguments = zip(*seen.calls, strict=True) if seen.calls else ((), (), ())
    whole = [one[2] for one in produced.calls]
    match operator:
        case "model.length_cut":
            assert seen.finish in ("length", "max_tokens", "max_output_tokens")
            assert TEXT.startswith(seen.text) and 0 < len(seen.text) < len(TEXT)
        case "model.malformed_arguments":
            if protocol is MESSAGES:
                blocks = json.loads(turn["delivered_view"])["content"]
                arguments = [one["input"] for one in blocks if isinstance(one["input"], str)]
                whole = [one.replace(" ", "") for one in whole]
            [cut] = set(arguments) - set(whole)
            assert any(one.startswith(cut) for one in whole)
        case "model.unknown_tool":
            assert len(set(names)) == 2 and "get_order" in names and list(arguments) == whole
        case _:
            assert len(ids) == 2 and len(set(ids)) == 1 and list(arguments) == whole
    if protocol is not MESSAGES or operator != "model.malformed_arguments":
        assert protocol.read_raw(turn["delivered_view"]) == seen, "what was delivered is on record"


@EACH
async def test_a_stream_that_the_provider_leaves(tmp_path: Path, protocol: Protocol) -> None:
    async with serving(tmp_path, "model.stream_cut") as (_, running):
        got = (await running.http.post(**protocol.request(running, stream=True))).content
        assert b'"The' in got and b"road." not in got and got.endswith(b"\n\n")
        assert not any(end in got for end in (b"[DONE]", b"message_stop", b"response.completed"))
        (turn,) = await turns(running)
        assert (
            protocol.read_raw(turn["produced"]).text == TEXT and turn["error"]["type"] == "model.stream_cut"
        )


async def test_a_session_has_only_so_many(tmp_path: Path) -> None:
    name, failed = profile("model.overloaded", tmp_path), 0
    async with ScriptedProvider(answer) as app:
        for start in (0, 6):  # after a restart the count goes on
            async with gateway(tmp_path, app.url, profile=name) as running:
                for number in range(start, start + 6):
                    said = [{"role": "user", "content": f"Number {number}?"}]
                    try:
                        await CHAT.ask(running, messages=said)
                    except openai.InternalServerError:
                        failed += 1
    assert failed == 5


@pytest.mark.parametrize("within", [False, True], ids=["between events", "within an event"])
@pytest.mark.parametrize(
    ("protocol", "stream"),
    [(MESSAGES, tuple(messages.STREAM)), (RESPONSES, tuple(responses.STREAM))],
    ids=["messages", "responses"],
)
async def test_a_stream_that_the_upstream_cuts_ends_with_the_protocols_error(
    tmp_path: Path, protocol: Protocol, stream: tuple[bytes, ...], within: bool
) -> None:
    came = [*stream[:5], *([stream[5][:30]] if within else [])]
    async with upstream(chunks(*came, CUT)) as app, gateway(tmp_path, app) as running:
        with pytest.raises((anthropic.APIStatusError, openai.APIError)) as cut:
            await protocol.ask(running, stream=True)
        error: Any = cut.value
        if protocol is MESSAGES:
            assert (error.body["type"], error.body["error"]["type"]) == ("error", "api_error")
        else:
            assert (error.type, error.code) == ("upstream_error", "upstream_cut")
        assert "the upstream broke off its answer" in str(error)
        (turn,) = await turns(running)
        assert (turn["error"]["source"], turn["error"]["type"]) == ("upstream", "upstream_cut")
        assert (turn["fitness"], turn["delivered"]) == ("upstream_error", "no")


WORDS: dict[str, Any] = {"text": "I look both of them up for you.", "reasoning": "Two orders are meant."}
CALLS = (Call("get_order", {"order_id": "W1"}), Call("get_order", {"order_id": "W2"}))
MESSAGE_EVENT: TypeAdapter[Any] = TypeAdapter(Annotated[RawMessageStreamEvent, Field(discriminator="type")])
RESPONSE_EVENT: TypeAdapter[Any] = TypeAdapter(Annotated[ResponseStreamEvent, Field(discriminator="type")])
OPERATORS = pytest.mark.parametrize(
    "operator",
    [
        "model.empty",
        "model.content_filter",
        "model.length_cut",
        "model.unknown_tool",
        "model.malformed_arguments",
        "model.duplicated_call_id",
    ],
)


async def events(
    tmp: Path, operator: str, path: str, body: dict[str, Any]
) -> tuple[list[dict[str, Any]], dict[str, Any], bytes]:
    """The events that the client got, and the body that is on record as delivered."""

    said = Answer(**WORDS, calls=() if operator == "model.length_cut" else CALLS)
    async with serving(tmp, operator, lambda _: said) as (_, running):
        request = {"url": f"{running.data}/s/one/v1/{path}", "json": body | {"stream": True}}
        answer = await running.http.post(**MESSAGES.request(running) | request)
        (turn,) = await turns(running)
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/event-stream")
    assert turn["error"]["type"] == operator
    raw = answer.content
    parts = EventSplitter(1 << 20).feed(raw)
    told = [json.loads(part.data) for part in parts]
    assert [f"event: {one['type']}".encode() for one in told] == [part.raw.split(b"\n")[0] for part in parts]
    return told, json.loads(turn["delivered_view"]), raw


@OPERATORS
async def test_the_events_of_messages_are_the_sdks_types(tmp_path: Path, operator: str) -> None:
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 2048}
    body = messages.body(*messages.history(1)) | thinking | {"tools": messages.TOOLS[:1]}
    told, delivered, raw = await events(tmp_path, operator, "messages", body)
    for event in told:
        MESSAGE_EVENT.validate_python(event)
    answer = MessagesAnswer()
    for part in EventSplitter(1 << 20).feed(raw):
        answer.read_event(part)
    assert json.loads(answer.produced_body()) == delivered
    opened = [one["index"] for one in told if one["type"] == "content_block_start"]
    assert opened == list(range(len(delivered["content"])))


@OPERATORS
async def test_the_events_of_responses_are_the_sdks_types(tmp_path: Path, operator: str) -> None:
    reasoning = {"reasoning": {"summary": "auto"}, "store": False, "tools": responses.TOOLS[:1]}
    body = responses.body(responses.history(1)) | reasoning
    told, delivered, _ = await events(tmp_path, operator, "responses", body)
    for event in told:
        RESPONSE_EVENT.validate_python(event)
    assert [one["sequence_number"] for one in told] == list(range(len(told)))
    assert told[-1] == told[-1] | {"type": f"response.{delivered['status']}", "response": delivered}
    done = [one["item"] for one in told if one["type"] == "response.output_item.done"]
    assert done == delivered["output"]
    for item in done:
        own = {"output_index": done.index(item), "item_id": item["id"]}
        pieces = [one for one in told if one.get("item_id") == item["id"]]
        assert all(one == one | own for one in pieces)
        assert "".join(one["delta"] for one in pieces if "delta" in one) == said(item)


def said(item: dict[str, Any]) -> str:
    texts = [part["text"] for part in item.get("content") or item.get("summary") or ()]
    return str(item.get("arguments", "")) + "".join(texts)


async def received(running: Running, stream: bool) -> tuple[bytes, bool]:
    """All that came over the connection, and whether it was reset."""
    asked = json.dumps(CHAT.body | {"stream": stream}).encode()
    got = b""
    async with connection(running) as (reader, writer):
        writer.write(
            b"POST /s/one/v1/chat/completions HTTP/1.1\r\nhost: here\r\ncontent-type: application/json\r\n"
            b"authorization: Bearer unused-but-long\r\ncontent-length: %d\r\n\r\n%b" % (len(asked), asked)
        )
        try:
            while part := await reader.read(65536):
                got += part
        except ConnectionResetError:
            return got, True
    return got, False


async def broken(tmp: Path, operator: str, stream: bool) -> tuple[bytes, bool, Any]:
    """All that came, whether the connection was reset, and the turn on record."""
    async with serving(tmp, operator) as (_, running):
        got, was_reset = await received(running, stream)
        (turn,) = await turns(running)
        return got, was_reset, turn


@pytest.mark.parametrize("stream", [False, True])
def test_a_connection_that_breaks_brings_nothing(
    tmp_path: Path, stream: bool, caplog: pytest.LogCaptureFixture
) -> None:
    got, was_reset, turn = uvloop.run(broken(tmp_path, "transport.reset", stream))
    assert (got, was_reset) == (b"", True)
    assert (turn["error"]["type"], turn["delivered"]) == ("transport.reset", "no")
    assert not [record for record in caplog.records if record.name == "uvicorn.error"]


@pytest.mark.parametrize("operator", ["transport.truncated_body", "transport.sse_cut"])
def test_an_answer_that_is_cut_ends_in_its_middle(
    tmp_path: Path, operator: str, caplog: pytest.LogCaptureFixture
) -> None:
    got, was_reset, turn = uvloop.run(broken(tmp_path, operator, stream=operator == "transport.sse_cut"))
    assert got.startswith(b"HTTP/1.1 200 ") and not was_reset
    assert not got.endswith((b"0\r\n\r\n", b"}"))
    assert (turn["error"]["type"], turn["delivered"]) == (operator, "no")
    assert not [record for record in caplog.records if record.name == "uvicorn.error"]
