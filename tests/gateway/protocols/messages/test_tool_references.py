"""Messages: references to deferred tools name what each side knows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crosswind.testing.replies import JSON, SSE, ReceivedRequest
from tests.gateway.closed_world import ABBREVIATED, TOOL, profile, tool
from tests.gateway.protocols.messages.conversation import (
    MESSAGE,
    body,
    call,
    event,
    policy,
    post,
    result,
    text,
    user,
)
from tests.gateway.servers import gateway, upstream

FUNCTION = tool()["function"]
TOOLS = [
    {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"},
    {
        "name": TOOL,
        "description": FUNCTION["description"],
        "input_schema": FUNCTION["parameters"],
        "defer_loading": True,
    },
]


def shown(seen: ReceivedRequest) -> str:
    """The true tool's name as the policy sees it: only that one may be deferred."""
    (one,) = [one["name"] for one in seen.json["tools"] if one.get("defer_loading")]
    assert one != TOOL
    return str(one)


def found(name: str) -> dict[str, Any]:
    """What the provider's own search found."""
    references = [{"type": "tool_reference", "tool_name": name}]
    content = {"type": "tool_search_tool_search_result", "tool_references": references}
    return {"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_1", "content": content}


def events(block: dict[str, Any]) -> list[bytes]:
    return [
        event(one)
        for one in (
            {"type": "message_start", "message": MESSAGE | {"content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}},
            {"type": "message_stop"},
        )
    ]


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
async def test_references_name_what_each_side_knows(tmp_path: Path, stream: bool) -> None:
    async def reply(seen: ReceivedRequest) -> Any:
        block = found(shown(seen))
        yield 200, [SSE if stream else JSON]
        if not stream:
            yield json.dumps(MESSAGE | {"content": [block], "stop_reason": "end_turn"}).encode()
        for one in events(block) if stream else ():
            yield one

    question = user("What did ACME order?")
    more = {"tools": TOOLS, "stream": stream}
    async with upstream(reply) as app, gateway(tmp_path, app, noise=profile(ABBREVIATED)) as running:
        told = await post(running, body(question, **more), "one")
        if stream:
            assert told.content == b"".join(events(found(TOOL))).replace(*_as_encoded(found(TOOL))), (
                "under the client's own name"
            )
        else:
            assert told.json()["content"] == [found(TOOL)]
        own = {"type": "tool_use", "id": "toolu_s", "name": "find_tools", "input": {}}
        reference = {"type": "tool_reference", "tool_name": TOOL}
        history = [
            question,
            policy(found(TOOL), own),
            user(result("toolu_s", [reference, {"type": "tool_reference", "tool_name": "another"}])),
            policy(call("toolu_2", "W1") | {"name": TOOL}),
            user(result("toolu_2", [text("Two orders.")])),
        ]
        await post(running, body(*history, **more), "one")
        sent = app.requests[1].json["messages"]
        true = shown(app.requests[1])
        assert sent[1]["content"] == [found(true), own]
        assert [one["tool_name"] for one in sent[2]["content"][0]["content"]] == [true, "another"]
        assert sent[3]["content"][0]["name"] == true


def _as_encoded(block: dict[str, Any]) -> tuple[bytes, bytes]:
    """An event that was changed is written without spaces."""
    data = {"type": "content_block_start", "index": 0, "content_block": block}
    return json.dumps(data).encode(), json.dumps(data, separators=(",", ":")).encode()
