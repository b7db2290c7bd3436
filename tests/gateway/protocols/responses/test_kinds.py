"""Responses: where functions have other names for the policy, what is no function's keeps its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crosswind.testing.replies import JSON, SSE, ReceivedRequest
from tests.gateway.agents import function
from tests.gateway.closed_world import ABBREVIATED, TOOL, profile
from tests.gateway.protocols.responses.conversation import RESPONSE, event, post, user
from tests.gateway.servers import gateway, upstream

TOOLS = [
    {
        "type": "mcp",
        "server_label": "shop",
        "server_url": "https://shop.example",
        "require_approval": "never",
    },
    function(),
    {"type": "custom", "name": "run_code"},
    {"type": "namespace", "name": "crm", "description": "The customers.", "tools": [function()]},
]
OTHERS = [
    {"type": "mcp", "server_label": "shop", "name": TOOL},
    {"type": "custom", "name": "run_code"},
    {"type": "image_generation"},
]


def true_name(seen: ReceivedRequest) -> str:
    (true,) = [one["name"] for one in seen.json["tools"] if one["type"] == "function" and one["name"] != TOOL]
    return str(true)


def output(name: str, other: str) -> list[dict[str, Any]]:
    """A call of the client's function, and what else calls something of that name."""
    return [
        {"type": "mcp_call", "id": "mcp_1", "server_label": "shop", "name": other, "arguments": "{}"},
        {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c0", "name": "run_code", "input": "1"},
        {
            "type": "function_call",
            "id": "fc_0",
            "call_id": "c1",
            "name": TOOL,
            "namespace": "crm",
            "arguments": "{}",
        },
        {"type": "function_call", "id": "fc_1", "call_id": "c2", "name": name, "arguments": "{}"},
    ]


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
async def test_only_functions_have_other_names(tmp_path: Path, stream: bool) -> None:
    asked = {
        "model": "m",
        "input": [user("What did ACME order?")],
        "tools": TOOLS,
        "stream": stream,
        "tool_choice": {
            "type": "allowed_tools",
            "mode": "auto",
            "tools": [*OTHERS, {"type": "function", "name": TOOL}],
        },
    }

    async def reply(seen: ReceivedRequest) -> Any:
        true = true_name(seen)
        made = RESPONSE | {"output": output(true, true), "tool_choice": seen.json["tool_choice"]}
        yield 200, [SSE if stream else JSON]
        yield b"".join(map(event, events(made))) if stream else json.dumps(made).encode()

    async with upstream(reply) as app, gateway(tmp_path, app, noise=profile(ABBREVIATED)) as running:
        told = await post(running, asked, "one")
        true = true_name(app.requests[0])
        chosen = app.requests[0].json["tool_choice"]["tools"]
        assert chosen == [*OTHERS, {"type": "function", "name": true}]
        response = told.json() if not stream else _completed(told.text)
        assert response["output"] == output(TOOL, true)
        if stream:
            came = [
                json.loads(line.removeprefix("data: ")) for line in told.text.splitlines() if "data: " in line
            ]
            assert came == events(response)
        assert response["tool_choice"] == asked["tool_choice"]


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
async def test_what_a_search_for_tools_found_has_its_own_name_for_each_side(
    tmp_path: Path, stream: bool
) -> None:
    deferred = {**function(), "defer_loading": True}
    inside = {"type": "namespace", "name": "crm", "description": "The customers.", "tools": [function()]}
    asked = {
        "model": "m",
        "input": [user("What did ACME order?")],
        "tools": [deferred, {"type": "tool_search"}],
        "stream": stream,
    }

    def found(name: str) -> dict[str, Any]:
        head = {"type": "tool_search_output", "id": "tso_1", "call_id": None, "execution": "server"}
        return {**head, "status": "completed", "tools": [{**deferred, "name": name}, inside]}

    async def reply(seen: ReceivedRequest) -> Any:
        made = RESPONSE | {"output": [found(true_name(seen))]}
        yield 200, [SSE if stream else JSON]
        yield b"".join(map(event, events(made))) if stream else json.dumps(made).encode()

    async def listed(seen: ReceivedRequest) -> Any:
        yield 200, [JSON]
        yield json.dumps({"object": "list", "data": [found(true_name(app.requests[0]))]}).encode()

    async with upstream(reply) as app, gateway(tmp_path, app, noise=profile(ABBREVIATED)) as running:
        told = await post(running, asked, "one")
        response = told.json() if not stream else _completed(told.text)
        assert response["output"] == [found(TOOL)]
        assert told.text.count(true_name(app.requests[0])) == 0
        more = [*asked["input"], *response["output"], user("And now?")]
        await post(running, asked | {"input": more}, "one")
        assert app.requests[1].json["input"][1] == found(true_name(app.requests[0]))
        app.steps[:] = [listed]
        page = await running.http.get(f"{running.data}/s/one/v1/responses/{response['id']}/input_items")
        assert page.json()["data"] == [found(TOOL)]


def events(response: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of a response whose items come whole."""
    out: list[dict[str, Any]] = [{"type": "response.created", "response": response | {"output": []}}]
    for index, item in enumerate(response["output"]):
        place = {"output_index": index, "item_id": item["id"]}
        out.append({"type": "response.output_item.added", "output_index": index, "item": item})
        out.append({"type": f"response.{item['type']}.in_progress", **place})
        out.append({"type": "response.output_item.done", "output_index": index, "item": item})
    out.append({"type": "response.completed", "response": response})
    return [{**one, "sequence_number": number} for number, one in enumerate(out)]


def _completed(stream: str) -> Any:
    *_, last = (line for line in stream.splitlines() if line.startswith("data: "))
    return json.loads(last.removeprefix("data: "))["response"]
