"""HTTP tools through the gateway: a real client, and a real API on uvicorn."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from crosswind.loopback_server import listen, make_server, run_server
from crosswind.testing import ScriptedProvider
from tests.gateway.proxy.test_tool_mcp import FAIL, events_of
from tests.gateway.servers import Running, gateway
from tests.gateway.tools.shop import OPENAPI, Shop, api_shop

RULES = [
    {"method": "GET", "path": "/orders/{order_id}", "tool": "get_order"},
    {"method": "POST", "path": "/orders", "tool": "place_order"},
]
MISLEAD = "name: n\nrules: [{operator: tool.misleading, severity: 1.0, when: {}}]\n"
JSON = {"content-type": "application/json"}
ORDER = {"id": 7, "city": "Lisbon", "total": 17.5}


@contextlib.asynccontextmanager
async def served(
    tmp_path: Path, app: ScriptedProvider, noise: str | None = None, **api: Any
) -> AsyncIterator[tuple[Running, Shop, str]]:
    async with api_shop() as shop:
        tools = {"apis": {"orders": {"url": shop.url, **(api or {"document": OPENAPI})}}}
        async with gateway(tmp_path, app, noise=noise, tools=tools) as running:
            yield running, shop, f"{running.data}/s/s1/tools/orders"


@pytest.mark.parametrize("api", [{"document": OPENAPI}, {"rules": RULES}])
async def test_a_call_fails_as_http_fails_and_the_retry_recovers(
    tmp_path: Path, app: ScriptedProvider, api: dict[str, Any]
) -> None:
    async with served(tmp_path, app, FAIL, **api) as (running, shop, url):
        failed = await running.http.post(f"{url}/orders", json={"item": "tea"})
        assert failed.status_code >= 400
        assert shop.orders == []
        passed = await running.http.post(
            f"{url}/orders", content=b'{ "item":"tea" }', headers={"content-type": "application/json"}
        )
        assert (passed.status_code, passed.json(), shop.orders) == (201, {"number": 1}, ["tea"])
        calls = [one for one in await events_of(running, "s1") if one.operator == "call"]
        assert [(one.tool, one.draw["outcome"], one.attempt) for one in calls] == [
            ("place_order", "injected", 0),
            ("place_order", "answered", 1),
        ]
        assert calls[1].draw["recovered"]


async def test_failures_come_as_statuses_with_what_http_says_besides(
    tmp_path: Path, app: ScriptedProvider
) -> None:
    seen: dict[int, httpx.Response] = {}
    roomy = FAIL + "bounds: {faults_per_session: 1000, events_per_session: 1000}\n"
    async with served(tmp_path, app, roomy) as (running, _, url):
        for number in range(60):
            answer = await running.http.get(f"{url}/orders/{number}")
            seen[answer.status_code] = answer
        assert {429, 503} < seen.keys()
        assert int(seen[429].headers["retry-after"]) >= 1
        assert all(answer.headers["content-type"] == "application/json" for answer in seen.values())
        assert all(isinstance(answer.json(), dict) for answer in seen.values())


@pytest.mark.parametrize("query", ["", "?compress=1"])
async def test_results_are_changed_in_the_encoding_that_they_came_in(
    tmp_path: Path, app: ScriptedProvider, query: str
) -> None:
    async with served(tmp_path, app, MISLEAD) as (running, _, url):
        async with running.http.stream("GET", f"{url}/orders/7{query}") as answer:
            raw = b"".join([part async for part in answer.aiter_raw()])
        assert int(answer.headers["content-length"]) == len(raw)
        assert (answer.headers.get("content-encoding") == "gzip") is bool(query)
        assert "etag" not in answer.headers
        assert answer.headers["x-api"] == "shop"
        changed = await running.http.get(f"{url}/orders/8{query}")
        assert changed.json() != ORDER | {"id": 8}
        assert ORDER["city"] in changed.text


@pytest.mark.parametrize("noise", [None, FAIL])
async def test_what_no_rule_matches_is_streamed_untouched(
    tmp_path: Path, app: ScriptedProvider, noise: str | None
) -> None:
    async with served(tmp_path, app, noise) as (running, shop, url):
        for method, path, body in (
            ("GET", "/blob", None),
            ("POST", "/echo?a=%20b&a=c", bytes(range(256)) * 2000),
            ("GET", "/nothing", None),
            ("PATCH", "/orders/1", b"{}"),
        ):
            answers = [
                await running.http.request(method, root + path, content=body) for root in (shop.url, url)
            ]
            assert answers[0].content == answers[1].content
            assert answers[0].status_code == answers[1].status_code
            own = [{k: v for k, v in one.headers.items() if k != "date"} for one in answers]
            assert own[0] == own[1]
        assert await events_of(running, "s1") == []


async def test_noise_off_calls_are_passed_on_byte_for_byte_and_recorded(
    tmp_path: Path, app: ScriptedProvider
) -> None:
    async with served(tmp_path, app) as (running, shop, url):
        for root in (shop.url, url):
            answer = await running.http.get(f"{root}/orders/7?compress=1")
            assert answer.json() == ORDER
            odd = b'{"item" : "te\\u0061",\n"more":1e2}'
            await running.http.post(
                f"{root}/orders", content=odd, headers={"content-type": "application/json"}
            )
        ours = {"host", "connection", "x-crosswind-via"}
        sent = [(one.body, {k: v for k, v in one.headers.items() if k not in ours}) for one in shop.seen]
        assert sent[:2] == sent[2:]
        events = await events_of(running, "s1")
        assert [(one.tool, one.tool_class, one.draw["outcome"]) for one in events] == [
            ("get_order", "read_only", "answered"),
            ("place_order", events[1].tool_class, "answered"),
        ]


async def test_an_api_that_is_down_or_says_no_is_the_tools_own_failure(
    tmp_path: Path, app: ScriptedProvider
) -> None:
    tools = {"apis": {"orders": {"url": "http://127.0.0.1:9", "rules": RULES}}}
    async with gateway(tmp_path, app, tools=tools) as running:
        answer = await running.http.get(f"{running.data}/s/s1/tools/orders/orders/7")
        assert (answer.status_code, answer.headers["content-type"]) == (502, "application/problem+json")
        assert "can't be reached" in answer.json()["detail"]
        (event,) = await events_of(running, "s1")
        assert event.draw["outcome"] == "unanswered"


async def test_a_client_that_leaves_cancels_the_request(tmp_path: Path, app: ScriptedProvider) -> None:
    rules = [{"method": "GET", "path": "/wait", "tool": "wait"}]
    async with served(tmp_path, app, rules=rules) as (running, shop, url):
        async with httpx.AsyncClient(trust_env=False) as http:
            with pytest.raises(httpx.ReadTimeout):
                await http.get(f"{url}/wait", timeout=httpx.Timeout(60, read=1))
        await shop.cancelled.wait()
        while not (events := await events_of(running, "s1")):
            pass
        assert [one.draw["outcome"] for one in events] == ["cancelled"]


@pytest.mark.parametrize("behind", ["", "?page=2"])
async def test_an_address_without_a_path_is_asked_for_its_root(
    tmp_path: Path, app: ScriptedProvider, behind: str
) -> None:
    async with served(tmp_path, app) as (running, shop, url):
        assert (await running.http.get(url + behind)).status_code == 404
        assert shop.seen[-1].path == "/"


@pytest.mark.parametrize("root", ["tools/orders/live", "mcp/orders"])
async def test_a_websocket_to_tools_is_refused_and_never_goes_to_a_model(
    tmp_path: Path, app: ScriptedProvider, root: str
) -> None:
    async with served(tmp_path, app) as (running, _, _):
        handshake = {
            "connection": "Upgrade",
            "upgrade": "websocket",
            "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
            "sec-websocket-version": "13",
        }
        answer = await running.http.get(f"{running.data}/s/s1/{root}", headers=handshake)
        assert (answer.status_code, answer.json()["error"]["code"]) == (426, "websockets_refused")
        assert app.requests == []


async def test_an_api_is_not_asked_to_repeat_what_it_was_sent(tmp_path: Path, app: ScriptedProvider) -> None:
    async with served(tmp_path, app, key="the-servers-own") as (running, shop, url):
        refused = await running.http.request("TRACE", f"{url}/orders")
        assert refused.status_code == 405 and not shop.seen


async def test_without_noise_a_text_is_passed_on_as_it_comes(tmp_path: Path, app: ScriptedProvider) -> None:
    read = asyncio.Event()

    async def lines(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        headers = [(b"content-type", b"text/plain")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"one\n", "more_body": True})
        await read.wait()
        await send({"type": "http.response.body", "body": b"two\n"})

    async with run_server(make_server(lines), listen()) as url:
        tools = {"apis": {"orders": {"url": url, "rules": RULES}}}
        async with gateway(tmp_path, app, tools=tools) as running:
            got = b""
            try:
                async with (
                    asyncio.timeout(20),
                    running.http.stream("GET", f"{running.data}/s/s1/tools/orders/orders/7") as answer,
                ):
                    async for part in answer.aiter_bytes():
                        got += part
                        read.set()
            finally:
                read.set()
            assert got == b"one\ntwo\n"
            (call,) = await events_of(running, "s1")
            assert (call.operator, call.draw["outcome"]) == ("call", "answered")
