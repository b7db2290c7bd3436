"""The list of tools changes in the middle of a session, and clients are told: schema v1, then v2."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from crosswind.gateway.tools.decision import Act
from crosswind.gateway.tools.events import as_row
from crosswind.gateway.tools.leg import ToolLeg
from crosswind.gateway.tools.mcp import McpLink
from crosswind.testing import ScriptedProvider
from tests.gateway.proxy.test_tool_mcp import events_of, served
from tests.gateway.stdio.play import RELAY, read_events
from tests.gateway.tools.links import call, line, listing, make_link, result, tool, tools

LATER = "{start: 2}"
NOISE = f"name: n\nrules: [{{operator: schema.paraphrase_tool, severity: 1.0, when: {LATER}}}]\n"
SAID = "Look an order up."
ERAS = ["legacy", "2026-07-28"]


def shown(body: bytes) -> dict[str, Any]:
    return {one["name"]: one for one in json.loads(body)["result"]["tools"]}


def hello(*, tells: bool) -> bytes:
    capabilities = {"tools": {"listChanged": tells}}
    return line(id=0, result={"protocolVersion": "2025-11-25", "capabilities": capabilities})


@pytest.mark.parametrize("tells", [True, False])
def test_a_rule_that_begins_later_changes_the_list_and_tells_whom_it_can(tells: bool) -> None:
    link, leg = make_link("schema.paraphrase_tool", when=LATER)
    link.learn(hello(tells=tells))
    declared = tools(tool("get_order", SAID), ttlMs=5000, cacheScope="public")
    link.from_client(listing(), 1)
    first = link.from_server(declared, 2)
    assert shown(first.body)["get_order"]["description"] == SAID
    assert (json.loads(first.body)["result"]["ttlMs"], leg.drain()) == (0, [])
    told = []
    for number in range(4):
        link.from_client(call(number, "get_order", {"city": str(number)}), 3)
        link.from_server(result(number, "7"), 4)
        told.append(link.take_notifications())
    line_of_change = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
    assert told == ([[], [line_of_change], [], []] if tells else [[]] * 4)
    assert not any(one.slot for one in leg.drain()), "nobody was shown it yet"
    bodies = []
    for _ in range(2):
        link.from_client(listing(), 5)
        bodies.append(link.from_server(declared, 6).body)
    assert bodies[0] == bodies[1]
    assert shown(bodies[0])["get_order"]["description"] != SAID
    assert json.loads(bodies[0])["result"]["cacheScope"] == "private"
    assert [one.operator for one in leg.drain()] == ["schema.paraphrase_tool"]


def test_a_change_that_nobody_asked_for_is_said_and_not_counted() -> None:
    link, leg = make_link("schema.paraphrase_tool", when=LATER)
    link.learn(hello(tells=True))
    link.from_client(listing(), 1)
    link.from_server(tools(tool("get_order", SAID)), 2)
    for number in range(3):
        link.from_client(call(number, "get_order"), 3)
        link.from_server(result(number, "7"), 4)
    link.close(5)
    (event,) = [one for one in leg.drain() if one.slot]
    assert event.after is None
    assert "didn't ask" in event.note


def test_a_listening_client_is_told_with_its_subscription_once_the_server_has_acknowledged_it() -> None:
    link, _ = make_link("schema.paraphrase_tool", when="{start: 1}")
    link.from_client(listing(), 1)
    link.from_server(tools(tool("get_order", SAID)), 2)
    for number, wanted in (("a", {"toolsListChanged": True}), ("b", {"promptsListChanged": True})):
        asked = line(id=number, method="subscriptions/listen", params={"notifications": wanted})
        assert link.from_client(asked, 3).act is Act.PASS
    assert link.waits
    meta = {"io.modelcontextprotocol/subscriptionId": "a"}
    granted = {"_meta": meta, "notifications": {"toolsListChanged": True}}
    acknowledged = line(method="notifications/subscriptions/acknowledged", params=granted)
    assert link.from_server(acknowledged, 4).act is Act.PASS
    link.from_client(call(1, "get_order"), 5)
    link.from_server(result(1, "7"), 6)
    (told,) = link.take_notifications()
    assert json.loads(told)["params"] == {"_meta": meta}
    link.cancel(line(method="notifications/cancelled", params={"requestId": "a"}), 7)
    assert not link.tells_on("")


class Told:
    """How often a client was told."""

    def __init__(self) -> None:
        self.event = anyio.Event()

    async def __call__(self, message: Any) -> None:
        if "ToolListChanged" in type(message).__name__ or "ToolListChanged" in repr(message)[:200]:
            self.event.set()


@asynccontextmanager
async def listening(client: Client, told: Told) -> AsyncIterator[Callable[[], Any]]:
    """Waits for the notification as the client's era has it."""
    if client.protocol_version < "2026":
        yield told.event.wait
        return
    async with client.listen(tools_list_changed=True) as subscription:
        yield lambda: anext(aiter(subscription))


async def play(client: Client, told: Told) -> list[str | None]:
    """The description of a tool before the change and after it."""

    async def describe() -> str | None:
        listed = (await client.list_tools()).tools
        return next(one.description for one in listed if one.name == "get_order")

    descriptions = [await describe()]
    async with listening(client, told) as wait:
        for number in range(3):
            answer = await client.call_tool("get_order", {"order_id": number})
            assert not answer.is_error
        with anyio.fail_after(60):
            await wait()
    descriptions += [await describe(), await describe()]
    assert not (await client.call_tool("get_order", {"order_id": 7})).is_error
    return descriptions


def check(descriptions: list[str | None]) -> None:
    before, after, again = descriptions
    assert before == SAID
    assert after == again != SAID


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_of_the_route_is_told_and_sees_the_new_list(
    tmp_path: Path, app: ScriptedProvider, era: str
) -> None:
    async with served(tmp_path, app, NOISE) as (running, _):
        told = Told()
        async with Client(f"{running.data}/s/s1/mcp/shop", mode=era, message_handler=told) as client:
            check(await play(client, told))
        changed = {
            one.tool for one in await events_of(running, "s1") if one.site == "tool_schema" and one.after
        }
        assert "get_order" in changed


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_of_the_relay_is_told_and_sees_the_new_list(tmp_path: Path, era: str) -> None:
    profile, events = tmp_path / "later.yaml", tmp_path / "events.jsonl"
    profile.write_text(NOISE)
    server = [sys.executable, "-m", "tests.gateway.stdio.shop_server"]
    command = [*RELAY, "--profile", str(profile), "--events", str(events), "--", *server]
    started = StdioServerParameters(
        command=command[0], args=command[1:], env={"PYTHONPATH": ":".join(sys.path)}
    )
    told = Told()
    async with Client(stdio_client(started), mode=era, message_handler=told) as client:
        check(await play(client, told))
    assert any(one.get("site") == "tool_schema" and one.get("after") for one in read_events(events))


def test_names_of_a_list_still_work_when_its_process_is_gone() -> None:
    link, leg = make_link("schema.duplicate_description", "schema.ghost_tool", "schema.type_mismatch")
    link.from_client(listing(), 1)
    raw = link.from_server(tools(tool("place_order", "Place."), tool("place_order_2", "Place two.")), 2).body
    names = [one["name"] for one in json.loads(raw)["result"]["tools"]]
    again = ToolLeg(leg.plan, "s", "other")
    again.resume(as_row(one) for one in leg.drain())
    again.shown["shop"].append({"declared_of": 7})  # Whoever delivers a relay's events may write anything.
    other = McpLink(again, "shop")
    assert other.names >= set(names) - {"place_order", "place_order_2"}
    assert len(names) >= 6
    for number, name in enumerate(names):
        given = [one.from_client(call(number, name, {"city": 5}), 3) for one in (link, other)]
        assert given[0] == given[1], name
