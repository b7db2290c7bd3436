"""A conversation as an agent leads it: it resends its own clean history with every turn."""

from __future__ import annotations

import json
from typing import Any

from tests.gateway.servers import Running

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_order",
            "description": "Look up an order.",
            "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}}},
        },
    }
]

PROFILE = """\
name: flaky
version: 1
summary: Every user text and every tool result is touched.
compose: all_of
rules:
  - operator: user.redundant
    severity: 1.0
    when: {probability: 1.0}
  - operator: tool.timeout
    severity: 1.0
    when: {probability: 1.0}
"""
"""A profile that leaves nothing to chance, so that tests can tell what was touched."""


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def call(call_id: str, order: str) -> dict[str, Any]:
    function = {"name": "get_order", "arguments": json.dumps({"order_id": order})}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }


def result(call_id: str, order: str) -> dict[str, Any]:
    content = json.dumps({"order_id": order, "status": "shipped", "items": ["lamp", "desk"], "total": 120.5})
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def body(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "tiny", "messages": list(messages), "tools": TOOLS, **more}


TURNS = [
    [user("Please tell me where order W17 is, it was to come on Monday.")],
    [call("c1", "W17"), result("c1", "W17")],
    [call("c2", "W17"), result("c2", "W17")],
    [
        {"role": "assistant", "content": "It is shipped."},
        user("And where is order W18, the one with the lamp?"),
    ],
    [call("c3", "W18"), result("c3", "W18")],
]


def history(turns: int) -> list[dict[str, Any]]:
    """The agent's messages after so many turns."""
    return [message for turn in TURNS[:turns] for message in turn]


async def lead(running: Running, session: str, turns: range, **more: Any) -> None:
    """Lead the conversation through these turns."""
    for turn in turns:
        answer = await running.chat(body(*history(turn + 1), **more), session)
        assert answer.status_code == 200
