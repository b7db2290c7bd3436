"""A conversation as an agent on Anthropic's Messages leads it, and what the other side says."""

from __future__ import annotations

import json
from typing import Any

import httpx

from tests.gateway.servers import Running

TOOLS = [
    {
        "name": "get_order",
        "description": "Look up an order.",
        "input_schema": {"type": "object", "properties": {"order_id": {"type": "string"}}},
    },
    {"type": "web_search_20250305", "name": "web_search"},
]
VERSION = {"anthropic-version": "2023-06-01"}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def user(*blocks: Any) -> dict[str, Any]:
    """A user's message: of one string, or of blocks."""
    return {
        "role": "user",
        "content": blocks[0] if len(blocks) == 1 and isinstance(blocks[0], str) else list(blocks),
    }


def call(call_id: str, order: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "get_order", "input": {"order_id": order}}


def facts(order: str) -> str:
    return json.dumps({"order_id": order, "status": "shipped", "items": ["lamp", "desk"], "total": 120.5})


def result(call_id: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def policy(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


THINKING = {"type": "thinking", "thinking": "An order is to be looked up.", "signature": "c2VhbGVk"}

TURNS = [
    [user("Please tell me where order W17 is, it was to come on Monday.")],
    [policy(THINKING, call("toolu_1", "W17")), user(result("toolu_1", facts("W17")))],
    [policy(call("toolu_2", "W17")), user(result("toolu_2", [text(facts("W17"))]))],
    [
        policy(text("It is shipped.")),
        user(text("And where is order W18, the one with the lamp?"), text("I want it by Friday, please.")),
    ],
    [
        policy(text("I look both up."), call("toolu_3", "W18"), call("toolu_4", "W19")),
        user(result("toolu_3", facts("W18")), result("toolu_4", facts("W19"))),
    ],
]


def history(turns: int) -> list[dict[str, Any]]:
    """The agent's messages after so many turns."""
    return [message for turn in TURNS[:turns] for message in turn]


def body(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "claude", "max_tokens": 1024, "messages": list(messages), "tools": TOOLS, **more}


def body_after(turns: int, **more: Any) -> dict[str, Any]:
    """What the agent asks after so many turns."""
    return body(*history(turns), **more)


async def post(running: Running, request: Any, session: str | None = None, **headers: str) -> httpx.Response:
    """Post a Messages request; as bytes it goes as it is."""
    raw = request if isinstance(request, bytes) else json.dumps(request).encode()
    path = "/v1/messages" if session is None else f"/s/{session}/v1/messages"
    named = {"content-type": "application/json", **VERSION, **headers}
    return await running.http.post(running.data + path, content=raw, headers=named)


def texts(request: Any) -> list[str]:
    """The user's texts and the results' in a request, in order."""
    out: list[str] = []
    for message in request["messages"]:
        if message["role"] == "user":
            out += _texts(message["content"])
    return out


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [
        one
        for block in content
        for one in ([block["text"]] if block["type"] == "text" else _texts(block.get("content", [])))
    ]


USAGE = {"input_tokens": 12, "cache_read_input_tokens": 3, "output_tokens": 7}
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-1",
    "content": [THINKING, text("I look it up."), call("toolu_1", "W17")],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": USAGE,
}
"""A plain answer; `EVENTS` are the same one as a stream's."""

EVENTS: list[dict[str, Any]] = [
    {
        "type": "message_start",
        "message": MESSAGE | {"content": [], "stop_reason": None, "usage": USAGE | {"output_tokens": 1}},
    },
    {
        "type": "content_block_start",
        "index": 0,
        "content_block": THINKING | {"thinking": "", "signature": ""},
    },
    {"type": "ping"},
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "thinking_delta", "thinking": "An order is"},
    },
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "thinking_delta", "thinking": " to be looked up."},
    },
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "signature_delta", "signature": "c2VhbGVk"},
    },
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": text("")},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "I look"}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": " it up."}},
    {"type": "content_block_stop", "index": 1},
    {"type": "content_block_start", "index": 2, "content_block": call("toolu_1", "W17") | {"input": {}}},
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": ""}},
    {
        "type": "content_block_delta",
        "index": 2,
        "delta": {"type": "input_json_delta", "partial_json": '{"order_'},
    },
    {
        "type": "content_block_delta",
        "index": 2,
        "delta": {"type": "input_json_delta", "partial_json": 'id": "W17"}'},
    },
    {"type": "content_block_stop", "index": 2},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {"output_tokens": 7, "input_tokens": None},
    },
    {"type": "message_stop"},
]


def event(data: dict[str, Any], end: bytes = b"\n") -> bytes:
    """One event of a stream."""
    return b"event: " + data["type"].encode() + end + b"data: " + json.dumps(data).encode() + end + end


STREAM = [event(one) for one in EVENTS]
