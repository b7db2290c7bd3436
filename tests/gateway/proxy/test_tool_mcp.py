"""MCP over HTTP through the gateway: the official SDK's client, and a real server of the same."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client, MCPError

from crosswind.gateway.trajectory.record import Event
from crosswind.testing import ScriptedProvider
from tests.gateway.servers import Running, gateway
from tests.gateway.tools.shop import Shop, mcp_shop

FAIL = "name: fail\nrules: [{operator: tool.execution_failure, severity: 1.0, when: {}}]\n"
ERAS = ["legacy", "2026-07-28"]


@contextlib.asynccontextmanager
async def served(
    tmp_path: Path, app: ScriptedProvider, noise: str | None = None, **options: Any
) -> AsyncIterator[tuple[Running, Shop]]:
    more = options.pop("server", {})
    async with mcp_shop(**options) as shop:
        tools = {"mcp": {"shop": {"url": shop.url, **more}}}
        async with gateway(tmp_path, app, noise=noise, tools=tools) as running:
            yield running, shop


def text_of(result: Any) -> str:
    return "".join(block.text for block in result.content)


async def events_of(running: Running, session: str) -> list[Event]:
    """Those of the session's tool leg, in time."""
    await running.flush()
    return sorted(running.gateway.store.events(session), key=lambda one: (one.created_us, not one.slot))


@pytest.mark.parametrize("era", ERAS)
async def test_tools_and_results_are_the_same_without_noise(
    tmp_path: Path, app: ScriptedProvider, era: str
) -> None:
    async with served(tmp_path, app) as (running, shop):
        seen = []
        for url in (shop.url, f"{running.data}/s/s1/mcp/shop"):
            progress: list[float] = []

            async def note(done: float, total: float | None, message: str | None, to: Any = progress) -> None:
                to.append(done)

            async with Client(url, mode=era) as client:
                listed = await client.list_tools()
                read = await client.call_tool("get_order", {"order_id": 7})
                structured = await client.call_tool("find_order", {"order_id": 7})
                counted = await client.call_tool("count", {"upto": 3}, progress_callback=note)
                seen.append(
                    [one.model_dump() for one in (listed, read, structured, counted)]
                    + [progress, client.protocol_version]
                )
        assert seen[0] == seen[1]
        assert seen[1][4] == [0, 1, 2]


@pytest.mark.parametrize("era", ERAS)
async def test_a_call_fails_before_the_tool_and_the_retry_is_recorded_as_its_recovery(
    tmp_path: Path, app: ScriptedProvider, era: str
) -> None:
    async with served(tmp_path, app, FAIL) as (running, shop):
        async with Client(f"{running.data}/s/s1/mcp/shop", mode=era) as client:
            with contextlib.suppress(MCPError):
                failed = await client.call_tool("place_order", {"item": "tea"})
                assert failed.is_error
            assert shop.orders == []
            passed = await client.call_tool("place_order", {"item": "tea"})
        assert text_of(passed) == "Ordered tea: number 1."
        assert shop.orders == ["tea"]
        events = await events_of(running, "s1")
        assert [one.operator for one in events if one.after] == ["tool.execution_failure"]
        outcomes = [one.draw["outcome"] for one in events if one.operator == "call"]
        assert outcomes == ["injected", "answered"]
        assert events[-1].draw["recovered"]
        assert len({one.logical_call for one in events}) == 1
        session = (await running.sessions())[0]
        assert (session["id"], session["arm"]) == ("s1", "noisy")


@pytest.mark.parametrize("json_response", [True, False])
async def test_results_are_changed_on_the_wire_and_the_rest_is_not(
    tmp_path: Path, app: ScriptedProvider, json_response: bool
) -> None:
    noise = "name: n\nrules: [{operator: tool.misleading, severity: 1.0, when: {}}]\n"
    async with served(tmp_path, app, noise, json_response=json_response) as (running, _):
        async with Client(f"{running.data}/s/s1/mcp/shop") as client:
            changed = text_of(await client.call_tool("get_order", {"order_id": 7}))
        assert "Lisbon" in changed
        assert changed != json.dumps({"id": 7, "city": "Lisbon", "total": 17.5})
        (injected,) = [one for one in await events_of(running, "s1") if one.after]
        assert injected.after == changed


def messages() -> list[bytes]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    call = {"name": "get_order", "arguments": {"order_id": 7}, "_meta": meta}
    return [
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}).encode(),
        b' {"jsonrpc":"2.0", "id":"a\\u2028", "method":"tools\\/call","params":%b}'
        % json.dumps(call).encode(),
        json.dumps({"jsonrpc": "2.0", "id": 2, "method": "nobody/knows", "params": {"_meta": meta}}).encode(),
        b"garbage",
        b"[]",
    ]


@pytest.mark.parametrize("noise", [None, "name: n\nrules: [{operator: transport.latency, severity: 0.0}]\n"])
async def test_noise_off_every_byte_is_the_same(
    tmp_path: Path, app: ScriptedProvider, noise: str | None
) -> None:
    async with served(tmp_path, app, noise) as (running, shop), httpx.AsyncClient(trust_env=False) as http:
        got = []
        for url in (shop.url, f"{running.data}/s/s1/mcp/shop"):
            for body in messages():
                name = {"mcp-name": "get_order"} if b"get_order" in body else {}
                method = json.loads(body)["method"] if body.lstrip().startswith(b"{") else "tools/list"
                headers = {
                    "content-type": "application/json",
                    "accept": "application/json, text/event-stream",
                    "mcp-protocol-version": "2026-07-28",
                    "mcp-method": method,
                    "x-other": "kept",
                    **name,
                }
                answer = await http.post(url, content=body, headers=headers)
                got.append((answer.status_code, answer.content, answer.headers.get("content-type")))
        half = len(got) // 2
        assert got[:half] == got[half:]
        assert [one.body for one in shop.seen[:half]] == [one.body for one in shop.seen[half:]]
        ours = {"host", "x-crosswind-via", "connection"}
        sent = [{k: v for k, v in one.headers.items() if k not in ours} for one in shop.seen]
        if noise is None:
            assert sent[:half] == sent[half:]


async def test_a_client_that_leaves_cancels_the_call(tmp_path: Path, app: ScriptedProvider) -> None:
    async with served(tmp_path, app) as (running, shop):
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": json.loads(messages()[1])["params"],
        }
        body["params"] |= {"name": "wait", "arguments": {}}
        headers = {
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": "tools/call",
            "mcp-name": "wait",
        }
        url = f"{running.data}/s/s1/mcp/shop"
        async with httpx.AsyncClient(trust_env=False) as http:
            with pytest.raises(httpx.ReadTimeout):
                await http.post(url, json=body, headers=headers, timeout=httpx.Timeout(60, read=1))
        await shop.cancelled.wait()
        while not (events := await events_of(running, "s1")):
            pass
        assert [one.draw["outcome"] for one in events] == ["cancelled"]


async def test_errors_have_the_protocols_form(tmp_path: Path, app: ScriptedProvider) -> None:
    body = messages()[1]
    async with gateway(tmp_path, app, tools={"mcp": {"shop": {"url": "http://127.0.0.1:9/mcp"}}}) as running:
        for path, status, said in (
            ("/s/s1/mcp/shop", 502, "can't be reached"),
            ("/s/s1/mcp/shap", 404, "did you mean 'shop'?"),
            ("/mcp/shop", 400, "names no session"),
        ):
            answer = await running.http.post(running.data + path, content=body)
            error = answer.json()["error"]
            assert (answer.status_code, answer.json()["jsonrpc"]) == (status, "2.0")
            assert said in error["message"]
        (event,) = await events_of(running, "s1")
        assert event.draw["outcome"] == "unanswered"


async def test_names_that_a_client_makes_up_do_not_fill_the_record(
    tmp_path: Path, app: ScriptedProvider
) -> None:
    async with served(tmp_path, app) as (running, _):
        for name in ("n" * 1_000_000, *(f"made-up-{number}" for number in range(1010))):
            params = {"name": name, "arguments": {}}
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            await running.http.post(f"{running.data}/s/s1/mcp/shop", json=body)
        session = await running.gateway.sessions.get("s1")
        assert session is not None
        served_here = session.record.labels["crosswind.tools.shop"].split(",")
        assert len(served_here) == 1000
        assert max(len(event.tool or "") for event in await events_of(running, "s1")) < 200


async def test_the_session_comes_by_header_or_by_key(tmp_path: Path, app: ScriptedProvider) -> None:
    async with served(tmp_path, app) as (running, shop):
        opened = (await running.api("POST", "/api/sessions", {})).json()
        call = messages()[1]
        headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": "tools/call",
            "mcp-name": "get_order",
        }
        for more in ({"x-crosswind-session": "s2"}, {"authorization": f"Bearer {opened['api_key']}"}):
            answer = await running.http.post(
                f"{running.data}/mcp/shop", content=call, headers={**headers, **more}
            )
            assert answer.status_code == 200
        assert len(await events_of(running, "s2")) == 1
        assert len(await events_of(running, opened["id"])) == 1
        assert not any(
            "authorization" in one.headers or "x-crosswind-session" in one.headers for one in shop.seen
        )


async def test_what_lies_below_a_servers_address_is_not_reached(
    tmp_path: Path, app: ScriptedProvider
) -> None:
    async with served(tmp_path, app, server={"key": "the-servers-own-key"}) as (running, shop):
        for below in ("admin", "admin/keys?all=1", "%61dmin", "//admin"):
            refused = await running.http.post(
                f"{running.data}/s/s1/mcp/shop/{below}", content=b"{}", headers={"accept": "*/*"}
            )
            assert refused.status_code == 404
            assert "one address, /mcp/shop" in refused.json()["error"]["message"]
        assert shop.seen == []
        await running.http.post(f"{running.data}/s/s1/mcp/shop/", content=b"{}")
        assert [one.path for one in shop.seen] == ["/mcp"]


async def test_a_tenants_key_reaches_neither_sessions_nor_servers_of_others(
    tmp_path: Path, app: ScriptedProvider
) -> None:
    keys = [{"key": "key-of-a", "tenant": "a"}, {"key": "key-of-b", "tenant": "b"}]
    async with mcp_shop() as shop:
        tools = {"mcp": {"for-a": {"url": shop.url, "tenants": ["a"]}, "of-all": {"url": shop.url}}}
        async with gateway(tmp_path, app, auth="keys", keys=keys, tools=tools) as running:

            async def ask(path: str, key: str) -> httpx.Response:
                headers = {"authorization": f"Bearer {key}"}
                return await running.http.post(running.data + path, content=messages()[0], headers=headers)

            await ask("/s/sa/mcp/for-a", "key-of-a")
            before = len(shop.seen)
            assert before == 1
            opened = (await running.api("POST", "/api/sessions", {"tenant": "b"})).json()
            for key in ("key-of-b", opened["api_key"]):
                refused = await ask("/mcp/for-a" if key != "key-of-b" else "/s/sb/mcp/for-a", key)
                assert refused.status_code == 404
                assert "no MCP server is named 'for-a'" in refused.text
                near = await ask("/s/sb/mcp/for-b", "key-of-b")
                assert "for-a" not in near.text
            for path in ("/s/sa/mcp/of-all", "/s/sa/mcp/for-a"):
                assert (await ask(path, "key-of-b")).status_code == 404
            assert len(shop.seen) == before
            assert not await events_of(running, "sb")
            await ask("/mcp/of-all", opened["api_key"])
            await ask("/s/sb/mcp/of-all", "key-of-b")
            assert len(shop.seen) == before + 2
