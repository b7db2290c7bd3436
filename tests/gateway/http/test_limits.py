"""Both planes refuse what is too large, too slow or too much while it is read, and say so in JSON."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pytest

from crosswind.gateway.http.connection_table import Plane
from crosswind.gateway.http.request_head import HeadReader, ReadLimits
from crosswind.gateway.http.request_reader import Mark, RequestReader
from tests.gateway.dialogue import body, user
from tests.gateway.http.serving import Wire, connected, served, table
from tests.gateway.servers import Running, gateway, upstream, wait_until

PLANES = ("data", "control")
HOST = b"host: 127.0.0.1\r\n"
POST = b"POST /v1/chat/completions HTTP/1.1\r\n" + HOST + b"content-type: application/json\r\n"
PUT = b"PUT /api/noise HTTP/1.1\r\n" + HOST + b"content-type: application/json\r\n"


@asynccontextmanager
async def running(tmp_path: Path, **given: Any) -> AsyncIterator[Running]:
    async with upstream() as app, gateway(tmp_path, app, **given) as one:
        yield one


def port(one: Running, plane: str) -> int:
    return int(getattr(one, plane).rpartition(":")[2])


async def send_until_answered(at: int, parts: Iterator[bytes], pause_s: float = 0.0) -> bytes:
    """What is answered, and closed, while these parts are sent."""
    async with connected(at) as (reader, writer):
        coming = asyncio.create_task(reader.read())
        for part in parts:
            if coming.done():
                break
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(pause_s)
        return await coming


def error_of(got: bytes) -> tuple[int, str]:
    """The status and the code of an answer, which has to be whole and to end its connection."""
    head, _, sent = got.partition(b"\r\n\r\n")
    assert b"connection: close" in head.lower() and b"content-type: application/json" in head.lower(), got
    return int(head.split()[1]), json.loads(sent)["error"]["code"]


GET = b"GET /healthz HTTP/1.1\r\n" + HOST
ENDLESS = {
    "lines": (GET, b"a: b\r\n" * 100, 431, "headers_too_large"),
    "a line": (GET + b"a: ", b"x" * 10_000, 431, "headers_too_large"),
    "a name": (GET, b"x" * 10_000, 431, "headers_too_large"),
    "a URL": (b"GET /", b"x" * 10_000, 414, "url_too_long"),
    "a method": (b"G", b"x" * 10_000, 414, "url_too_long"),
    "no HTTP": (b"\x16\x03\x01", b"\x02\x00", 400, "malformed_request"),
    "bare lines": (b"GET / HTTP/1.1\n", b"host: x\n", 400, "malformed_request"),
}


@pytest.mark.parametrize("plane", PLANES)
async def test_a_head_without_an_end_is_refused_while_it_is_read(tmp_path: Path, plane: str) -> None:
    limits = {"header": 20_000, "header_lines": 1000, "url": 5000}
    async with running(tmp_path, limits=limits) as one:
        for name, (begin, then, status, code) in ENDLESS.items():
            got = await send_until_answered(port(one, plane), chain([begin], repeat(then)))
            assert error_of(got) == (status, code), name
        told = one.gateway.metrics.text().decode()
        refused = f'crosswind_clients_refused_total{{plane="{plane}",reason="%s"}}'
        assert f"{refused % 'headers_too_large'} 3.0" in told and f"{refused % 'url_too_long'} 2.0" in told


@pytest.mark.parametrize("plane", PLANES)
async def test_a_whole_head_is_held_to_the_same_limits(tmp_path: Path, plane: str) -> None:
    limits = {"header": 2000, "header_lines": 20, "url": 100}
    heads = {
        GET + b"a: b\r\n" * 30: (431, "headers_too_large"),
        GET + b"a: " + b"x" * 2000 + b"\r\n": (431, "headers_too_large"),
        GET.replace(b"/healthz", b"/" + b"x" * 100): (414, "url_too_long"),
        GET.replace(b"1.1", b"2.0"): (505, "http_version_not_supported"),
        GET.replace(HOST, b""): (400, "malformed_request"),
    }
    async with running(tmp_path, limits=limits) as one:
        for head, expected in heads.items():
            assert error_of(await send_until_answered(port(one, plane), iter([head + b"\r\n"]))) == expected
        fits = GET + b"a: b\r\n" * 18 + b"connection: close\r\n\r\n"
        assert b" 200 OK" in await send_until_answered(port(one, plane), iter([fits]))


@pytest.mark.parametrize("plane", PLANES)
async def test_trailers_without_an_end_are_refused(tmp_path: Path, plane: str) -> None:
    head = {"data": POST, "control": PUT}[plane] + b"transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"
    async with running(tmp_path) as one:
        for endless in (b"a: b\r\n" * 100, b"x" * 10_000):
            got = await send_until_answered(port(one, plane), chain([head], repeat(endless)))
            assert error_of(got) == (431, "headers_too_large")


def test_a_head_that_comes_byte_by_byte_is_searched_once() -> None:
    """Each byte is looked at a few times, however long the head is."""

    class Counting(bytearray):
        searched = 0

        def find(self, what: Any, start: Any = 0, end: Any = None) -> int:
            Counting.searched += (len(self) if end is None else end) - start
            return super().find(what, start, len(self) if end is None else end)

    reader, size = RequestReader(HeadReader(ReadLimits(url=1 << 10, header=1 << 20, lines=256))), 100_000
    reader._data = Counting(b"G")
    for byte in b"ET / HTTP/1.1\r\nhost: x\r\na: " + b"x" * size:
        assert reader.read(bytes([byte])) == []
    assert reader.read(b"\r\n\r\n")[-1] is Mark.END
    assert Counting.searched < 10 * size


@pytest.mark.parametrize("plane", PLANES)
async def test_the_slow_are_hung_up_on(tmp_path: Path, plane: str) -> None:
    head = {"data": POST, "control": PUT}[plane]
    async with running(tmp_path, timeouts={"header": 0.3, "body": 0.3}) as one:
        at = port(one, plane)
        assert await send_until_answered(at, iter([])) == b""
        half = [
            (iter([head]), "header_timeout"),
            (chain([head], repeat(b"a")), "header_timeout"),
            (iter([head + b"content-length: 100\r\n\r\n{"]), "body_timeout"),
            (chain([head + b"content-length: 100000\r\n\r\n{"], repeat(b" ")), "body_timeout"),
            (chain([head + b"transfer-encoding: chunked\r\n\r\n"], repeat(b"1\r\n \r\n")), "body_timeout"),
        ]
        for parts, code in half:
            assert error_of(await send_until_answered(at, parts, 0.01)) == (408, code)
        # Time begins again with each request.
        async with connected(at) as (reader, writer):
            for _ in range(3):
                writer.write(GET + b"\r\n")
                await reader.readuntil(b"}")
                await asyncio.sleep(0.15)
            writer.write(GET)
            assert error_of(await reader.read()) == (408, "header_timeout")


@pytest.mark.parametrize("plane", PLANES)
@pytest.mark.parametrize(
    ("limit", "code"),
    [
        ("clients", "too_many_connections"),
        ("clients_per_address", "too_many_connections_of_address"),
        ("clients_half_open", "too_many_half_open"),
    ],
)
async def test_one_connection_too_many_is_refused_until_another_ends(
    tmp_path: Path, plane: str, limit: str, code: str
) -> None:
    async with running(tmp_path, limits={limit: 2}) as one, AsyncExitStack() as stack:
        at, connections = port(one, plane), getattr(one.gateway, f"{plane}_connections")
        first, _ = [await stack.enter_async_context(connected(at)) for _ in range(2)]
        await wait_until(lambda: len(connections.open) == 2)
        got = await send_until_answered(at, iter([]))
        assert error_of(got) == (503, code) and b"retry-after: 1" in got
        other = {"data": "control", "control": "data"}[plane]
        assert b" 200 OK" in await send_until_answered(
            port(one, other), iter([GET + b"connection: close\r\n\r\n"])
        )
        if limit == "clients_half_open":
            first[1].write(GET + b"\r\n")
            await first[0].readuntil(b"}")
        else:
            first[1].close()
            await wait_until(lambda: len(connections.open) == 1)
        assert b" 200 OK" in await send_until_answered(at, iter([GET + b"connection: close\r\n\r\n"]))
        told = one.gateway.metrics.text().decode()
        assert f'crosswind_clients_refused_total{{plane="{plane}",reason="{code}"}} 1.0' in told


def test_clients_leave_files_for_upstreams_and_for_the_control_plane(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    monkeypatch.setattr(resource, "getrlimit", lambda _: (400, 400))
    data, control = table(), table(Plane.CONTROL)
    for connections, most in ((data, 150), (control, 50)):
        for number in range(most):
            assert connections.find_refusal("", number) is None
            connections.add(Wire(), "")  # type: ignore[arg-type]
        assert connections.find_refusal("", 0) == "too_few_files"
    assert table().find_refusal("", 299) is None and table().find_refusal("", 300) == "too_few_files"


def test_the_control_plane_takes_hundreds_of_clients_where_files_allow_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import resource

    monkeypatch.setattr(resource, "getrlimit", lambda _: (20_000, 20_000))
    control = table(Plane.CONTROL)
    for number in range(500):
        assert control.find_refusal("", number) is None
        control.add(Wire(), "")  # type: ignore[arg-type]


async def test_bodies_share_one_budget_and_new_sessions_are_refused_first(tmp_path: Path) -> None:
    filled = body(user("x" * 850_000))
    async with running(tmp_path, limits={"bodies": 1_000_000}) as one:
        assert (await one.chat(body(user("hello")), "known")).status_code == 200
        refused = await one.chat(filled, "new")
        assert refused.status_code == 503 and refused.headers["retry-after"] == "1"
        assert refused.json()["error"]["code"] == "bodies_too_large_together"
        assert (await one.chat(filled, "known")).status_code == 200
        bomb = gzip.compress(json.dumps(filled).encode() + b" " * 10_000_000)
        assert (await one.chat(bomb, "known", content_encoding="gzip")).status_code == 503
        await wait_until(lambda: not one.gateway.data_connections.budget.held)
        told = one.gateway.metrics.text().decode()
        assert "crosswind_body_bytes 0.0" in told
        assert 'crosswind_clients_refused_total{plane="data",reason="bodies_too_large_together"} 2.0' in told


async def test_bodies_that_nobody_has_read_count_too(tmp_path: Path) -> None:
    head = POST.replace(b" /v1", b" /s/a/v1") + b"content-length: 900000\r\n\r\n"
    async with running(tmp_path, limits={"bodies": 1_000_000}) as one, AsyncExitStack() as stack:
        budget = one.gateway.data_connections.budget
        for _ in range(2):
            _, writer = await stack.enter_async_context(connected(port(one, "data")))
            writer.write(head + b" " * 390_000)
        await wait_until(lambda: budget.held >= 780_000)
        for plane, sent in (("data", head), ("control", PUT + b"content-length: 900000\r\n\r\n")):
            got = await send_until_answered(port(one, plane), iter([sent + b" " * 800_000]))
            assert got.split()[1] == b"503" and b"bodies_too_large_together" in got, plane


async def test_a_client_that_reads_nothing_is_dropped() -> None:
    ended = asyncio.Event()

    async def flood(http: Any) -> None:
        http.cancel_when_gone()
        await http.start(200, [])
        try:
            while True:
                await http.chunk(b"x" * 65536)
        finally:
            ended.set()

    async with served(flood, timeouts={"send": 0.2}) as (at, connections), connected(at) as (_, writer):
        writer.write(GET + b"\r\n")
        await ended.wait()
        await wait_until(lambda: connections.refused["send_timeout"] == 1 and not connections.open)


async def test_a_reload_changes_the_limits(tmp_path: Path) -> None:
    async with running(tmp_path) as one:
        sent = [GET + b"a: " + b"x" * 3000 + b"\r\nconnection: close\r\n\r\n"]
        assert b" 200 OK" in await send_until_answered(port(one, "data"), iter(sent))
        limits = one.gateway.settings.limits.model_copy(update={"header": 2000})
        await one.gateway.apply_settings(one.gateway.settings.model_copy(update={"limits": limits}))
        assert error_of(await send_until_answered(port(one, "data"), iter(sent))) == (
            431,
            "headers_too_large",
        )
