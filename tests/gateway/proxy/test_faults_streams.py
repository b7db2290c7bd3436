"""Streams that the gateway makes up are what the real SDKs' types say, event by event, and add up to what is
on record as delivered.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import pytest
from anthropic.types import RawMessageStreamEvent
from openai.types.responses import ResponseStreamEvent
from pydantic import Field, TypeAdapter

from crosswind.gateway.http.sse import EventSplitter
from crosswind.gateway.protocols.messages.answer import MessagesAnswer
from crosswind.testing import Answer, Call
from tests.gateway.protocols.messages import conversation as messages
from tests.gateway.protocols.responses import conversation as responses
from tests.gateway.proxy.faulty import MESSAGES, serving, turns

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
async def test_messages(tmp_path: Path, operator: str) -> None:
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
async def test_responses(tmp_path: Path, operator: str) -> None:
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
