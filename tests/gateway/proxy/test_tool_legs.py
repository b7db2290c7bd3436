"""One session on both legs: what a tool leg serves, the model leg leaves alone, and the record has both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from mcp import Client

from crosswind.gateway.trajectory.commands.sessions import sessions
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.studies.replay.recompute import replay
from crosswind.testing import ScriptedProvider
from tests.gateway.proxy.test_tool_http import FAIL, MISLEAD
from tests.gateway.proxy.test_tool_mcp import events_of, text_of
from tests.gateway.servers import gateway
from tests.gateway.tools.shop import OPENAPI, api_shop, mcp_shop

PARAMETERS = {"type": "object", "properties": {"order_id": {"type": "integer"}}, "required": ["order_id"]}
SCHEMA = "name: n\nrules: [{operator: schema.paraphrase_tool, severity: 1.0, when: {}}]\n"


def request_with(tool: str, text: str, **more: Any) -> dict[str, Any]:
    """A model's request whose history has a call of a tool, with this result."""
    function = {"name": tool, "arguments": '{"order_id": 7}'}
    call = {"id": f"call_{tool}", "type": "function", "function": function}
    return {
        "model": "tiny",
        "messages": [
            {"role": "user", "content": "Where is order 7?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": text},
        ],
        **more,
    }


@pytest.mark.parametrize("name", ["get_order", "mcp__shop__get_order", "shop_get_order", "getOrder"])
async def test_a_result_is_perturbed_on_one_leg_only(
    tmp_path: Path, app: ScriptedProvider, name: str
) -> None:
    async with (
        mcp_shop() as shop,
        gateway(tmp_path, app, noise=MISLEAD, tools={"mcp": {"shop": {"url": shop.url}}}) as running,
    ):
        async with Client(f"{running.data}/s/s1/mcp/shop") as client:
            shown = text_of(await client.call_tool("get_order", {"order_id": 7}))
        for tool in (name, "find_orders"):
            await running.chat(request_with(tool, shown), "s1")
        seen = [json.loads(one.body)["messages"][-1]["content"] for one in app.requests]
        assert seen[0] == shown
        assert seen[1] != shown
        injected = [one.tool for one in await events_of(running, "s1") if one.after]
        assert injected == ["get_order", "find_orders"]
    store = SqliteStore(tmp_path / "store.db")
    found = store.trajectory("s1")
    assert found is not None
    again = replay(found.session, found.turns, found.events, store.ledger("s1"))
    assert [one.same for one in again] == [True, True]
    store.close()


async def test_the_model_leg_leaves_an_apis_tools_alone_after_a_restart_too(
    tmp_path: Path, app: ScriptedProvider
) -> None:
    async with api_shop() as shop:
        tools = {"apis": {"orders": {"url": shop.url, "document": OPENAPI}}}
        async with gateway(tmp_path, app, noise=MISLEAD, tools=tools) as running:
            url = f"{running.data}/s/s1/tools/orders/orders/7"
            async with httpx.AsyncClient(trust_env=False) as http:
                shown = (await http.get(url)).text
            await running.flush()
        async with gateway(tmp_path, app, noise=MISLEAD, tools=tools) as running:
            await running.chat(request_with("get_order", shown), "s1")
        assert json.loads(app.requests[-1].body)["messages"][-1]["content"] == shown


async def test_a_call_made_again_after_a_restart_is_another_attempt(
    tmp_path: Path, app: ScriptedProvider
) -> None:
    async with api_shop() as shop:
        tools = {"apis": {"orders": {"url": shop.url, "document": OPENAPI}}}
        statuses = []
        for _ in range(2):
            async with gateway(tmp_path, app, noise=FAIL, tools=tools) as running:
                url = f"{running.data}/s/s1/tools/orders/orders"
                statuses.append((await running.http.post(url, json={"item": "tea"})).status_code)
                calls = [one for one in await events_of(running, "s1") if one.operator == "call"]
        assert statuses[0] >= 400
        assert statuses[1] == 201
        assert [(one.draw["order"], one.attempt) for one in calls] == [(0, 0), (0, 1)]
        assert calls[-1].draw["recovered"]
        assert shop.orders == ["tea"]


async def test_a_description_is_perturbed_on_one_leg_only(tmp_path: Path, app: ScriptedProvider) -> None:
    function = {"name": "get_order", "description": "Look an order up.", "parameters": PARAMETERS}
    tools = [{"type": "function", "function": {**function, "name": name}} for name in ("get_order", "other")]
    async with (
        mcp_shop() as shop,
        gateway(tmp_path, app, noise=SCHEMA, tools={"mcp": {"shop": {"url": shop.url}}}) as running,
    ):
        async with Client(f"{running.data}/s/s1/mcp/shop") as client:
            listed = {one.name: one.description for one in (await client.list_tools()).tools}
        await running.chat({**request_with("get_order", "{}"), "tools": tools}, "s1")
        shown = [one["function"]["description"] for one in json.loads(app.requests[-1].body)["tools"]]
        assert listed["get_order"] != "Look an order up."
        assert shown[0] == "Look an order up."
        assert shown[1] != "Look an order up."


async def test_the_record_has_turns_and_calls_in_one_timeline(tmp_path: Path, app: ScriptedProvider) -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    async with api_shop() as shop:
        tools = {"apis": {"orders": {"url": shop.url, "document": OPENAPI}}}
        async with gateway(tmp_path, app, noise=FAIL, tools=tools) as running:
            url = f"{running.data}/s/s1/tools/orders/orders"
            hello = {"model": "tiny", "messages": [{"role": "user", "content": "order tea"}]}
            await running.chat(hello, "s1")
            for _ in range(2):
                await running.http.post(url, json={"item": "tea"}, headers={"traceparent": trace})
            await running.chat(request_with("place_order", '{"number": 1}'), "s1")
            await running.flush()
            assert all(one.headers["traceparent"] == trace for one in shop.seen)
    run = ["show", "s1", "--store", f"sqlite:///{tmp_path}/store.db"]
    lines = CliRunner().invoke(sessions, run, catch_exceptions=False).output.splitlines()
    heads = [line.strip().partition(":")[0] for line in lines if line.startswith(("turn", "  on the wire"))]
    wire = "on the wire to orders"
    assert list(dict.fromkeys(heads)) == ["turn 0", wire, f"{wire}, attempt 1", "turn 1"]
    told = json.loads(CliRunner().invoke(sessions, [*run, "--json"]).output)["tool_leg"]
    calls = [one for one in told if one["operator"] == "call"]
    assert [(one["outcome"], one["caused_by"], one["recovered"]) for one in calls] == [
        ("injected", "noise", False),
        ("answered", "tool", True),
    ]


@pytest.mark.parametrize("calls", [0, 3])
async def test_each_call_on_a_tool_leg_is_a_place_of_the_links_noise(
    tmp_path: Path, app: ScriptedProvider, calls: int
) -> None:
    rules = [
        "{operator: transport.latency, severity: 0.001, when: {every: 2}}",
        "{operator: tool.misleading, severity: 0.5}",
    ]
    noise = f"name: n\ncompose: all_of\nrules: [{', '.join(rules)}]\n"
    async with (
        mcp_shop() as shop,
        gateway(tmp_path, app, noise=noise, tools={"mcp": {"shop": {"url": shop.url}}}) as running,
    ):
        async with Client(f"{running.data}/s/s1/mcp/shop") as client:
            for order in range(calls):
                await client.call_tool("get_order", {"order_id": order})
        await running.chat({"model": "tiny", "messages": [{"role": "user", "content": "hi"}]}, "s1")
        dose = (await running.trajectory("s1"))["dose"]["operators"]
    assert dose["transport.latency"]["eligible"] == calls + 1
    assert dose["tool.misleading"]["eligible"] == calls
    for one in dose.values():
        assert one["decided"] == one["injected"] + one["withheld"] <= one["eligible"]


async def test_the_session_of_a_tool_leg_is_exposed(tmp_path: Path, app: ScriptedProvider) -> None:
    async with (
        mcp_shop() as shop,
        gateway(tmp_path, app, noise=MISLEAD, tools={"mcp": {"shop": {"url": shop.url}}}) as running,
    ):
        async with Client(f"{running.data}/s/s1/mcp/shop") as client:
            await client.call_tool("get_order", {"order_id": 7})
        await running.chat({"model": "tiny", "messages": [{"role": "user", "content": "hi"}]}, "s1")
        trajectory = await running.trajectory("s1")
        assert trajectory["dose"]["exposure"] == "exposed"
