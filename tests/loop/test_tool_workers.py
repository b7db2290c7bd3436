"""Tool traffic through `crosswind serve --workers 2`, beside one worker: the same noise, and one record."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import yaml
from mcp import Client, MCPError

from crosswind.gateway.peers.peers import Peers
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.testing import ScriptedProvider
from tests.gateway.proxy.test_tool_legs import request_with
from tests.gateway.servers import upstream
from tests.gateway.tools.shop import OPENAPI, Shop, api_shop, mcp_shop
from tests.loop.children import Children, Gateway
from tests.loop.polling import wait_for

NOISE = """\
name: both
compose: all_of
rules:
  - {operator: tool.execution_failure, severity: 0.4}
  - {operator: tool.misleading, severity: 0.6}
  - {operator: tool.timeout, severity: 1.0, when: {every: 5}}
  - {operator: schema.paraphrase_tool, severity: 1.0, when: {start: 2}}
  - {operator: tool.numeric_noise, severity: 0.5}
"""
SESSIONS = [f"visit-{number}" for number in range(4)]
PEERS = Peers(1, Path(), count=2)
ERAS = ["legacy", "2026-07-28"]
OTHER = "another worker has a session's tool traffic"


@asynccontextmanager
async def shops() -> AsyncIterator[tuple[Shop, Shop]]:
    async with mcp_shop() as mcp, api_shop() as api:
        yield mcp, api


async def serve(children: Children, app: ScriptedProvider, folder: Path, workers: int, *of: Shop) -> Gateway:
    await asyncio.to_thread(folder.mkdir)
    mcp, api = of
    (folder / "noise.yaml").write_text(NOISE)
    tools = {"mcp": {"shop": {"url": mcp.url}}, "apis": {"orders": {"url": api.url, "document": OPENAPI}}}
    (folder / "config.yaml").write_text(yaml.safe_dump({"tools": tools}))
    options = [
        *("--workers", str(workers), "--seed", "7"),
        *("--config", str(folder / "config.yaml"), "--profile", str(folder / "noise.yaml")),
    ]
    return await asyncio.to_thread(children.gateway, app.url, folder / "store.db", *options)


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    try:
        result = await client.call_tool(tool, arguments)
    except MCPError as error:
        return str(error)
    return result.is_error, [block.text for block in result.content], result.structured_content  # type: ignore[union-attr]


async def visit(gateway: Gateway, session: str, era: str) -> list[Any]:
    """What an agent of one session sees of its tools. It comes by new connections again and again, so that
    both workers get them, and by those of the model's side."""
    root, seen = f"{gateway.data}/s/{session}", []
    for round_ in range(3):
        async with Client(f"{root}/mcp/shop", mode=era) as client:
            seen.append([tool.model_dump() for tool in (await client.list_tools()).tools])
            for order in (7, 8):
                seen.append(await call(client, "get_order", order_id=order))
                seen.append(await call(client, "find_order", order_id=round_))
            seen.append(await call(client, "place_order", item=f"{session} {round_}"))
        async with httpx.AsyncClient(trust_env=False) as http:
            for path in ("7", "7", str(round_)):
                given = await http.get(f"{root}/tools/orders/orders/{path}")
                seen.append((given.status_code, given.text))
            shown = str(seen[1])
            asked = request_with("get_order", shown)
            given = await http.post(f"{root}/v1/chat/completions", json=asked)
            assert given.status_code == 200, given.text
    return seen


def record(gateway: Gateway, session: str) -> tuple[int, list[tuple[Any, ...]]]:
    """How many turns the store has of a session, and its tool legs' events in time. The gateway has ended."""
    store = SqliteStore(gateway.store)
    found = store.trajectory(session)
    store.close()
    assert found is not None
    events = [one for one in found.events if one.turn_index < 0]
    events.sort(key=lambda one: (one.created_us, one.operator == "call"))
    return len(found.turns), [
        (one.operator, one.tool, one.attempt, one.logical_call, one.slot, one.after, one.note)
        for one in events
    ]


async def play(gateway: Gateway) -> list[list[Any]]:
    """All visits, one after the other: the shop numbers its orders as they come."""
    return [await visit(gateway, name, ERAS[number % 2]) for number, name in enumerate(SESSIONS)]


async def call_across_a_kill(gateway: Gateway, session: str) -> list[int]:
    """The statuses of equal calls of a session, whose worker is killed after the fourth."""
    async with httpx.AsyncClient(trust_env=False) as http:
        path = f"{gateway.data}/s/{session}/tools/orders/orders/7"
        statuses = [(await http.get(path)).status_code for _ in range(4)]

        async def stored() -> bool:
            told = (await http.get(f"{gateway.control}/api/sessions/{session}/trajectory")).json()
            return sum(one["operator"] == "call" for one in told.get("events", ())) == 4

        assert await wait_for(stored)
        ready = (await http.get(f"{gateway.control}/readyz")).json()
        (pid,) = [one["pid"] for one in ready["workers"] if one["number"] == PEERS.owner(session)]
        os.kill(pid, signal.SIGKILL)
        while len(statuses) < 8:
            with suppress(httpx.TransportError):  # Connections of the killed worker break.
                statuses.append((await http.get(path)).status_code)
    return statuses


async def test_tools_under_two_workers_get_the_noise_of_one_and_outlive_a_worker(
    children: Children, tmp_path: Path
) -> None:
    assert {PEERS.owner(name) for name in SESSIONS} == {1, 2}, "each worker has sessions"
    got, statuses = [], []
    for count in (1, 2):
        async with upstream() as app, shops() as both:
            gateway = await serve(children, app, tmp_path / str(count), count, *both)
            seen = await play(gateway)
            assert OTHER not in gateway.child.said
            if count == 2:
                statuses = await call_across_a_kill(gateway, "killed")
            assert await asyncio.to_thread(gateway.child.stop) == 0
            histories = sorted(one.texts()[-1] for one in app.requests)
            stored = [record(gateway, name) for name in SESSIONS]
            got.append((seen, stored, histories, sorted(both[0].orders)))
    for one, two in zip(*got, strict=True):
        assert json.dumps(one, default=str) == json.dumps(two, default=str)
    operators = {event[0] for _, events in got[0][1] for event in events if event[-2] is not None}
    assert {"tool.execution_failure", "tool.misleading", "schema.paraphrase_tool"} <= operators
    calls = [event for event in record(gateway, "killed")[1] if event[0] == "call"]
    assert len(calls) == len(statuses) == 8
    assert 200 in statuses
