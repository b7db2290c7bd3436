"""A conversation as an agent on Responses leads it, and what the other side says."""

from __future__ import annotations

import json
from typing import Any

import httpx

from crosswind.testing.response_events import events
from tests.gateway.protocols.messages.conversation import facts
from tests.gateway.servers import Running

TOOLS = [
    {
        "type": "function",
        "name": "get_order",
        "description": "Look up an order.",
        "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}}},
        "strict": False,
    },
    {"type": "web_search"},
]


def part(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "input_text", "text": words, **more}


def user(*parts: Any) -> dict[str, Any]:
    """A user's message: of one string, or of parts."""
    return {
        "role": "user",
        "content": parts[0] if len(parts) == 1 and isinstance(parts[0], str) else list(parts),
    }


def said(words: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": words, "annotations": []}]
    return {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": content,
    }


def call(call_id: str, order: str, **more: Any) -> dict[str, Any]:
    arguments = json.dumps({"order_id": order})
    made = {"type": "function_call", "call_id": call_id, "name": "get_order", "arguments": arguments}
    return {**made, **more}


def result(call_id: str, output: Any, **more: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": output, **more}


REASONING = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "An order is to be looked up."}],
    "encrypted_content": "c2VhbGVk",
}

TURNS = [
    [user("Please tell me where order W17 is, it was to come on Monday.")],
    [REASONING, call("call_1", "W17"), result("call_1", facts("W17"))],
    [call("call_2", "W17"), result("call_2", [part(facts("W17"))])],
    [
        said("It is shipped."),
        user(part("And where is order W18, the one with the lamp?"), part("I want it by Friday, please.")),
    ],
    [
        said("I look both up."),
        call("call_3", "W18"),
        call("call_4", "W19"),
        result("call_3", facts("W18")),
        result("call_4", facts("W19")),
    ],
]


def history(turns: int) -> list[dict[str, Any]]:
    """The agent's items after so many turns."""
    return [item for turn in TURNS[:turns] for item in turn]


def body(given: Any, **more: Any) -> dict[str, Any]:
    return {"model": "m", "input": given, "instructions": "Be brief.", "tools": TOOLS, **more}


def body_after(turns: int, **more: Any) -> dict[str, Any]:
    """What the agent asks after so many turns."""
    return body(history(turns), **more)


async def post(running: Running, request: Any, session: str | None = None, **headers: str) -> httpx.Response:
    """Post a Responses request; as bytes it goes as it is."""
    raw = request if isinstance(request, bytes) else json.dumps(request).encode()
    path = "/v1/responses" if session is None else f"/s/{session}/v1/responses"
    named = {"content-type": "application/json", **headers}
    return await running.http.post(running.data + path, content=raw, headers=named)


def texts(request: Any) -> list[str]:
    """The user's texts and the results' in a request, in order."""
    given = request["input"]
    if isinstance(given, str):
        return [given]
    out: list[str] = []
    for item in given:
        if item.get("role") == "user":
            out += _texts(item["content"])
        elif item.get("type") == "function_call_output":
            out += _texts(item["output"])
    return out


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [one["text"] for one in content if one["type"] == "input_text"]


USAGE = {"input_tokens": 12, "input_tokens_details": {"cached_tokens": 3}, "output_tokens": 7}
RESPONSE: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "status": "completed",
    "error": None,
    "incomplete_details": None,
    "model": "m-1",
    "output": [REASONING, said("I look it up."), call("call_1", "W17", id="fc_1", status="completed")],
    "usage": USAGE,
}
"""A plain answer; `EVENTS` are the same one as a stream's."""

EVENTS = list(events(RESPONSE))


def event(data: dict[str, Any], end: bytes = b"\n") -> bytes:
    """One event of a stream."""
    return b"event: " + data["type"].encode() + end + b"data: " + json.dumps(data).encode() + end + end


STREAM = [event(one) for one in EVENTS]


def response(number: int, *output: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An answer with an id of its own."""
    return RESPONSE | {"id": f"resp_{number}", "output": list(output) or [said("Well.")]} | more
