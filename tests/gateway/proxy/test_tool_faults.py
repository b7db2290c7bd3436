"""Servers of tools that misbehave, and faults of the link: what clients see, and what is on record."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client

from crosswind.testing import ScriptedProvider
from tests.gateway.proxy.test_tool_mcp import events_of, messages, text_of
from tests.gateway.servers import Running, gateway
from tests.gateway.tools.shop import OPENAPI, api_shop, mcp_shop

ANSWER = {"jsonrpc": "2.0", "id": "a\u2028", "result": {"content": [{"type": "text", "text": "x"}]}}
RAW = json.dumps(ANSWER).encode()
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\n%b\r\n"
PLAIN, STREAM = b"application/json", b"text/event-stream"
QUIET = "name: n\nrules: [{operator: tool.misleading, severity: 0.0, when: {}}]\n"


@contextlib.asynccontextmanager
async def raw_server(answer: bytes, *, hangs: bool = False) -> AsyncIterator[str]:
    """A server that reads a request, writes these bytes, and closes the connection or hangs."""
    over = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = head.partition(b"content-length:")[2].split()
        await reader.readexactly(int(length[0]) if length else 0)
        writer.write(answer)
        with contextlib.suppress(OSError):
            await writer.drain()
            if hangs:
                await over.wait()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
        over.set()


async def call_through(running: Running, kind: str = "mcp") -> tuple[int | str, bytes]:
    """Call a tool with a raw request; gives the status, or the client's error, and the bytes."""
    got = b""
    url = f"{running.data}/s/s1/{kind}/shop" + ("/" if kind == "tools" else "")
    headers = {"accept": "application/json, text/event-stream"}
    try:
        async with running.http.stream("POST", url, content=messages()[1], headers=headers) as answer:
            async for part in answer.aiter_raw():
                got += part
    except (httpx.RemoteProtocolError, httpx.ReadError):
        return "cut", got
    return answer.status_code, got


def plain(body: bytes) -> bytes:
    return HEAD % (PLAIN, b"content-length: %d\r\n" % len(body)) + body


def stream(*events: bytes) -> bytes:
    return HEAD % (STREAM, b"connection: close\r\n") + b"".join(b"data: %b\n\n" % one for one in events)


LARGE = json.dumps({**ANSWER, "result": {"content": [{"type": "text", "text": "x" * 20_000_000}]}}).encode()
CASES: dict[str, tuple[bytes, int | str, Callable[[bytes], bool], str]] = {
    "dies at once": (b"", 502, lambda got: json.loads(got)["jsonrpc"] == "2.0", "unanswered"),
    "no HTTP": (b"garbage\r\n\r\n", 502, lambda got: json.loads(got)["jsonrpc"] == "2.0", "unanswered"),
    "dies in the body": (plain(RAW)[:-5], 502, lambda got: json.loads(got)["jsonrpc"] == "2.0", "unanswered"),
    "garbage": (plain(b"no json"), 200, lambda got: got == b"no json", "unanswered"),
    "another id": (plain(RAW.replace(b"a\\u2028", b"b")), 200, lambda got: b'"b"' in got, "unanswered"),
    "answers twice": (stream(RAW, RAW), 200, lambda got: got.count(RAW) == 2, "answered"),
    "ends without an answer": (stream(b"{}"), 200, lambda got: got == b"data: {}\n\n", "unanswered"),
    "an error": (
        plain(RAW).replace(b"200 OK", b"500 Oops"),
        500,
        lambda got: got == RAW,
        "answered",
    ),
    "20 MB": (plain(LARGE), 200, lambda got: got == LARGE, "answered"),
    "20 MB in an event": (stream(LARGE), 200, lambda got: got == b"data: %b\n\n" % LARGE, "unanswered"),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("noise", [None, QUIET])
async def test_a_client_sees_what_it_would_have_seen(
    tmp_path: Path, app: ScriptedProvider, case: str, noise: str | None
) -> None:
    sent, status, expected, outcome = CASES[case]
    async with (
        raw_server(sent) as url,
        gateway(tmp_path, app, noise=noise, tools={"mcp": {"shop": {"url": url}}}) as running,
    ):
        answered, got = await call_through(running)
        assert answered == status
        assert expected(got)
        calls = [one for one in await events_of(running, "s1") if one.operator == "call"]
        assert [one.draw["outcome"] for one in calls] == [outcome]


async def test_a_server_that_never_answers_is_given_up_after_its_time_out(
    tmp_path: Path, app: ScriptedProvider
) -> None:
    async with raw_server(b"", hangs=True) as url:
        shop = {"url": url, "timeouts": {"first_byte": 0.2}}
        async with gateway(tmp_path, app, tools={"mcp": {"shop": shop}}) as running:
            status, got = await call_through(running)
            assert status == 504
            assert "first_byte" in json.loads(got)["error"]["message"]


async def test_a_renamed_tool_is_called_by_its_own_name_in_the_header_too(
    tmp_path: Path, app: ScriptedProvider
) -> None:
    noise = "name: n\nrules: [{operator: schema.duplicate_swapped, severity: 1.0, when: {}}]\n"
    async with (
        mcp_shop() as shop,
        gateway(tmp_path, app, noise=noise, tools={"mcp": {"shop": {"url": shop.url}}}) as running,
    ):
        async with Client(f"{running.data}/s/s1/mcp/shop", mode="2026-07-28") as client:
            names = [one.name for one in (await client.list_tools()).tools]
            renamed = [one for one in names if one.startswith("get_order") and one != "get_order"]
            answers = [text_of(await client.call_tool(one, {"order_id": 7})) for one in renamed]
        assert answers
        sent = [one for one in shop.seen if b"tools/call" in one.body]
        assert all(one.headers["mcp-name"] == json.loads(one.body)["params"]["name"] for one in sent)


@pytest.mark.parametrize("operator", ["transport.reset", "transport.hang", "transport.latency"])
async def test_no_order_is_lost_or_doubled_by_faults_of_the_link(
    tmp_path: Path, app: ScriptedProvider, operator: str
) -> None:
    noise = f"name: n\nrules: [{{operator: {operator}, severity: 0.01, when: {{}}}}]\n"
    async with api_shop() as shop:
        tools = {"apis": {"orders": {"url": shop.url, "document": OPENAPI}}}
        async with gateway(tmp_path, app, noise=noise, tools=tools) as running:
            told = []
            for item in [*"abcdefgh"]:
                for _ in range(3):
                    try:
                        answer = await running.http.post(
                            f"{running.data}/s/s1/tools/orders/orders", json={"item": item}, timeout=5
                        )
                    except httpx.HTTPError:
                        continue
                    if answer.status_code == 201:
                        told.append(item)
                        break
            assert shop.orders == told == [*"abcdefgh"]


NOTE = json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}}).encode()
LONG, SHORT = stream(*[NOTE] * 9, RAW), stream(RAW)


async def call_twice(
    tmp_path: Path, app: ScriptedProvider, kind: str, noise: str, may_repeat: list[str]
) -> tuple[list[Any], list[Any]]:
    """What a client saw of two calls, and the events of both."""
    async with raw_server(LONG) as url:
        shop = {"url": url, "may_repeat": may_repeat}
        api = {**shop, "rules": [{"tool": "get_order", "path": "/", "method": "POST"}]}
        tools = {"mcp": {"shop": shop}} if kind == "mcp" else {"apis": {"shop": api}}
        async with gateway(tmp_path, app, noise=noise, tools=tools) as running:
            seen = [await call_through(running, kind) for _ in range(2)]
            return seen, await events_of(running, "s1")


@pytest.mark.parametrize("kind", ["mcp", "tools"])
@pytest.mark.parametrize("may_repeat", [[], ["*"]])
async def test_a_stream_is_cut_only_where_the_call_may_be_repeated_and_the_next_call_passes(
    tmp_path: Path, app: ScriptedProvider, kind: str, may_repeat: list[str]
) -> None:
    noise = "name: n\nrules: [{operator: transport.sse_cut, severity: 1.0, when: {}}]\n"
    seen, events = await call_twice(tmp_path, app, kind, noise, may_repeat)
    whole = LONG.partition(b"\r\n\r\n")[2]
    assert seen[1] == (200, whole)
    ends = [one for one in events if one.operator == "call"]
    told = [(one.draw["outcome"], one.attempt, one.draw["recovered"]) for one in ends]
    if not may_repeat:
        assert seen[0] == (200, whole)
        assert told == [("answered", 0, False), ("answered", 0, False)]
        return
    status, got = seen[0]
    assert status == "cut"
    assert whole.startswith(got)
    assert 0 < len(got) < len(whole)
    assert told == [("injected", 0, False), ("answered", 1, True)]
    assert [one.operator for one in events if one.after] == ["transport.sse_cut"]


@pytest.mark.parametrize("kind", ["mcp", "tools"])
@pytest.mark.parametrize("operator", ["transport.reset", "transport.truncated_body"])
async def test_a_fault_of_the_answer_ends_a_stream_after_the_call_was_carried_out(
    tmp_path: Path, app: ScriptedProvider, kind: str, operator: str
) -> None:
    noise = f"name: n\nrules: [{{operator: {operator}, severity: 1.0, when: {{}}}}]\n"
    seen, events = await call_twice(tmp_path, app, kind, noise, ["*"])
    whole = LONG.partition(b"\r\n\r\n")[2]
    assert seen[1] == (200, whole)
    assert seen[0][0] == "cut"
    assert RAW not in seen[0][1]
    ends = [one for one in events if one.operator == "call"]
    assert [(one.draw["outcome"], one.attempt) for one in ends] == [("injected", 0), ("answered", 1)]
    assert [one.operator for one in events if one.after] == [operator]


@pytest.mark.parametrize("answer", [LONG, SHORT])
async def test_a_stream_that_stalls_brings_the_same_and_one_too_short_is_said_to_be_left_alone(
    tmp_path: Path, app: ScriptedProvider, answer: bytes
) -> None:
    noise = "name: n\nrules: [{operator: transport.sse_stall, severity: 0.001, when: {}}]\n"
    async with (
        raw_server(answer) as url,
        gateway(tmp_path, app, noise=noise, tools={"mcp": {"shop": {"url": url}}}) as running,
    ):
        assert await call_through(running) == (200, answer.partition(b"\r\n\r\n")[2])
        events = {one.operator: one for one in await events_of(running, "s1")}
        stall = events["transport.sse_stall"]
        assert events["call"].draw["outcome"] == "answered"
        assert (stall.after is not None) is (answer is LONG)
        assert ("no event for it" in stall.note) is (answer is SHORT)


@pytest.mark.parametrize("seed", range(3))
async def test_no_order_is_lost_or_doubled_side_by_side(
    tmp_path: Path, app: ScriptedProvider, seed: int
) -> None:
    operators = (
        "tool.execution_failure",
        "transport.reset",
        "transport.duplicated_delivery",
        "tool.incomplete",
    )
    rules = "".join(f"  - {{operator: {one}, severity: 0.4}}\n" for one in operators)
    noise = f"name: n\nbounds: {{faults_per_session: 1000, events_per_session: 1000}}\nrules:\n{rules}"
    async with api_shop() as shop:
        tools = {"apis": {"orders": {"url": shop.url, "document": OPENAPI}}}
        async with gateway(tmp_path, app, noise=noise, seed=seed, tools=tools) as running:

            async def order(item: str) -> str | None:
                for _ in range(4):
                    url = f"{running.data}/s/s1/tools/orders/orders"
                    with contextlib.suppress(httpx.HTTPError):
                        if (await running.http.post(url, json={"item": item})).status_code == 201:
                            return item
                return None

            told = await asyncio.gather(*(order(f"item-{number}") for number in range(60)))
            calls = [one for one in await events_of(running, "s1") if one.operator == "call"]
    assert sorted(shop.orders) == sorted(told) == sorted({f"item-{number}" for number in range(60)})
    assert any(one.draw["outcome"] == "injected" for one in calls)


OPERATORS = (
    *("tool.execution_failure", "tool.timeout", "tool.incomplete", "transport.reset"),
    *("transport.duplicated_delivery", "transport.truncated_body", "transport.sse_cut"),
)


async def test_no_order_is_lost_or_doubled_over_mcp_in_any_interleaving(
    tmp_path: Path, app: ScriptedProvider
) -> None:
    """Many sessions, each with draws of its own; in each, orders side by side by clients that try again."""
    rules = "".join(f"  - {{operator: {one}, severity: 0.3, when: {{}}}}\n" for one in OPERATORS)
    noise = f"name: n\nbounds: {{faults_per_session: 1000, events_per_session: 1000}}\nrules:\n{rules}"
    sessions = [f"s{number}" for number in range(40)]
    async with (
        mcp_shop(stateless_http=True, json_response=True) as shop,
        gateway(tmp_path, app, noise=noise, tools={"mcp": {"shop": {"url": shop.url}}}) as running,
    ):
        headers = {"accept": "application/json, text/event-stream"}

        async def order(session: str, item: str) -> str | None:
            given = {"name": "place_order", "arguments": {"item": item}}
            for attempt in range(8):
                message = {"jsonrpc": "2.0", "id": attempt, "method": "tools/call", "params": given}
                with contextlib.suppress(httpx.HTTPError):
                    url = f"{running.data}/s/{session}/mcp/shop"
                    answer = await running.http.post(url, json=message, headers=headers)
                    result = answer.json().get("result", {"isError": True})
                    if not result.get("isError"):
                        return item
            return None

        items = [f"{session}-{number}" for session in sessions for number in range(5)]
        told = await asyncio.gather(*(order(item.partition("-")[0], item) for item in items))
        events = [one for session in sessions for one in await events_of(running, session)]
    assert sorted(shop.orders) == sorted(items) == sorted(filter(None, told))
    assert (
        sum(one.operator == "call" and one.draw["outcome"] == "injected" for one in events) > len(items) / 4
    )


async def test_pages_of_other_origins_cannot_use_the_key_of_a_server(
    tmp_path: Path, app: ScriptedProvider
) -> None:
    async with api_shop() as shop:
        tools = {"apis": {"orders": {"url": shop.url, "document": OPENAPI, "key": "sk-the-shops-own-key"}}}
        async with gateway(tmp_path, app, tools=tools) as running:
            url = f"{running.data}/s/s1/tools/orders/orders/7"
            page = {"origin": "https://evil.example", "sec-fetch-site": "cross-site"}
            assert (await running.http.get(url, headers=page)).status_code == 403
            assert shop.seen == []
            assert (await running.http.get(url)).status_code == 200
            assert shop.seen[0].headers["authorization"] == "Bearer sk-the-shops-own-key"


async def test_secrets_of_calls_and_results_are_not_on_record(tmp_path: Path, app: ScriptedProvider) -> None:
    secret = "sk-proj-" + "Zq7x" * 12
    body = json.dumps({"city": "Lisbon", "note": f"the key is {secret}", "total": 7}).encode()
    noise = "name: n\nrules: [{operator: tool.misleading, severity: 1.0, when: {}}]\n"
    rules = [{"tool": "get_order", "path": "/mcp/{order}"}]
    async with raw_server(plain(body)) as url:
        tools = {"apis": {"orders": {"url": url.removesuffix("/mcp"), "rules": rules}}}
        async with gateway(tmp_path, app, noise=noise, tools=tools) as running:
            got = await running.http.get(
                f"{running.data}/s/s1/tools/orders/mcp/7",
                headers={"authorization": "Bearer tok-0123456789ab"},
            )
            assert secret in got.text
            events = await events_of(running, "s1")
            assert any(one.after for one in events)
            assert not any(secret in repr(one) or "tok-0123456789ab" in repr(one) for one in events)
