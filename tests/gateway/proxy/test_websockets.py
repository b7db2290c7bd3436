"""WebSockets under /v1: frames as they are, both ways, and the session's label."""

from __future__ import annotations

import asyncio
import contextlib
import http
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from random import Random

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.frames import Frame
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from crosswind.gateway.http.websocket import WebSocketConnection
from tests.gateway.servers import Running, gateway

Handler = Callable[[ServerConnection], Awaitable[None]]


async def echo(socket: ServerConnection) -> None:
    async for message in socket:
        await socket.send(message)


@contextlib.asynccontextmanager
async def speaking(handler: Handler = echo, **options: object) -> AsyncIterator[tuple[str, Server]]:
    """A WebSocket server; gives its address as an upstream's base."""
    async with serve(handler, "127.0.0.1", 0, max_size=None, **options) as server:  # type: ignore[arg-type]
        port = next(iter(server.sockets)).getsockname()[1]
        yield f"http://127.0.0.1:{port}", server


def at(running: Running, path: str) -> str:
    return running.data.replace("http://", "ws://") + path


async def test_text_and_binary_frames_go_both_ways_and_label_the_session(tmp_path: Path) -> None:
    async with speaking() as (url, _), gateway(tmp_path, url) as running:
        async with connect(at(running, "/s/mine/v1/responses")) as socket:
            for message in ("hello", "", "é\u2028😀", b"\x00\xff", b"", b"x" * 300_000, "y" * 300_000):
                await socket.send(message)
                assert await socket.recv() == message
            large = Random(1).randbytes(700_000)  # it can't be compressed
            await socket.send(large)
            assert await socket.recv() == large
            # A message of several fragments is one message.
            await socket.send(["a", "b", "c"])
            assert await socket.recv() == "abc"
            await (await socket.ping())
        await running.flush()
        shown = (await running.api("GET", "/api/sessions/mine")).json()
        assert shown["labels"] == {"ws_unperturbed": True}
        await running.chat({"messages": []}, "other")
        async with connect(at(running, "/v1/responses"), additional_headers={"x-crosswind-session": "other"}):
            pass
        await running.flush()
        assert (await running.api("GET", "/api/sessions/other")).json()["labels"] == {"ws_unperturbed": True}
        assert (
            'crosswind_requests_total{route="websocket",status="101"} 2.0'
            in running.gateway.metrics.text().decode()
        )


async def test_fragments_of_nothing_cost_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message of them never becomes too large."""
    held = 0
    receive = WebSocketConnection._receive_frame

    def watch(self: WebSocketConnection, frame: Frame) -> None:
        nonlocal held
        receive(self, frame)
        held = max(held, *[sys.getsizeof(value) for value in vars(self).values()])

    monkeypatch.setattr(WebSocketConnection, "_receive_frame", watch)
    async with (
        speaking() as (url, _),
        gateway(tmp_path, url) as running,
        connect(at(running, "/v1/realtime"), compression=None) as socket,
    ):
        await socket.send(["a", *[""] * 5_000, "b"])
        assert await socket.recv() == "ab"
    assert held < 20_000


async def test_a_large_message_behind_another_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of messages that came together, one is taken apart when the one before is on its way."""
    most = 0
    receive = WebSocketConnection._receive_frame

    def watch(self: WebSocketConnection, frame: Frame) -> None:
        nonlocal most
        receive(self, frame)
        most = max(most, len(self._messages))

    monkeypatch.setattr(WebSocketConnection, "_receive_frame", watch)
    async with (
        speaking() as (url, _),
        gateway(tmp_path, url) as running,
        connect(at(running, "/v1/realtime"), compression=None) as socket,
    ):
        sent = [Random(number).randbytes(20_000) for number in range(30)]
        for message in sent:
            await socket.send(message)
        assert [await socket.recv() for _ in sent] == sent
    assert most == 1


async def test_the_handshake_reaches_the_upstream_as_a_request_does(tmp_path: Path) -> None:
    seen: list[Request] = []

    async def note(socket: ServerConnection) -> None:
        assert socket.request is not None
        seen.append(socket.request)

    offered = [Subprotocol("realtime"), Subprotocol("openai-insecure-api-key.theirs")]
    async with (
        speaking(note, subprotocols=[Subprotocol("realtime")]) as (url, _),
        gateway(tmp_path, url) as running,
    ):
        key = (await running.api("POST", "/api/sessions", {})).json()["api_key"]
        async with connect(
            at(running, "/v1/realtime?model=gpt-realtime&a=%2F"),
            subprotocols=offered,
            additional_headers={"openai-beta": "realtime=v1", "x-crosswind-session": "s"},
        ) as socket:
            assert socket.subprotocol == "realtime"
        own = [Subprotocol("realtime"), Subprotocol(f"openai-insecure-api-key.{key}")]
        async with connect(at(running, f"/v1/realtime?key={key}&model=m"), subprotocols=own) as socket:
            assert socket.subprotocol == "realtime"
    theirs, ours = seen
    assert (
        theirs.path == "/v1/realtime?model=gpt-realtime&a=%2F"
        and theirs.headers["openai-beta"] == "realtime=v1"
    )
    assert theirs.headers["sec-websocket-protocol"].replace(" ", "") == ",".join(offered)
    assert "x-crosswind-session" not in theirs.headers
    assert ours.path == "/v1/realtime?model=m"
    assert ours.headers["sec-websocket-protocol"] == "realtime" and key not in str(ours.headers)


async def test_close_codes_go_both_ways(tmp_path: Path) -> None:
    got: asyncio.Queue[tuple[int | None, str | None]] = asyncio.Queue()

    async def close_as_told(socket: ServerConnection) -> None:
        try:
            async for message in socket:
                await socket.close(int(message), "as told")
        except ConnectionClosed:
            pass
        await got.put((socket.close_code, socket.close_reason))

    async with speaking(close_as_told) as (url, _), gateway(tmp_path, url) as running:
        for code in (1000, 1008, 4321):
            async with connect(at(running, "/v1/realtime")) as socket:
                await socket.send(str(code))
                with pytest.raises(ConnectionClosed):
                    await socket.recv()
                assert (socket.close_code, socket.close_reason) == (code, "as told")
            await got.get()
        async with connect(at(running, "/v1/realtime")) as socket:
            await socket.close(4001, "enough")
            assert await got.get() == (4001, "enough")
        async with connect(at(running, "/v1/realtime")) as socket:
            socket.transport.abort()
            assert (await got.get())[0] == 1001


async def test_an_upstream_that_is_cut_is_told_as_such(tmp_path: Path) -> None:
    async def cut(socket: ServerConnection) -> None:
        await socket.send("first")
        socket.transport.abort()

    async with (
        speaking(cut) as (url, _),
        gateway(tmp_path, url) as running,
        connect(at(running, "/v1/realtime")) as socket,
    ):
        assert await socket.recv() == "first"
        with pytest.raises(ConnectionClosed):
            await socket.recv()
        assert socket.close_code == 1014


async def refusal(running: Running, path: str, **headers: str) -> tuple[int, str]:
    with pytest.raises(InvalidStatus) as refused:
        await connect(at(running, path), additional_headers=headers)
    answer = refused.value.response
    return answer.status_code, (answer.body or b"").decode()


async def test_a_refused_handshake_is_an_http_answer(tmp_path: Path) -> None:
    def refuse(connection: ServerConnection, request: Request) -> Response:
        return Response(http.HTTPStatus.UNAUTHORIZED, "Unauthorized", Headers(), b"no")

    async with speaking(process_request=refuse) as (url, _), gateway(tmp_path, url) as running:
        status, body = await refusal(running, "/v1/realtime")
        assert status == 401 and "upstream_refused" in body
        assert (await refusal(running, "/elsewhere"))[0] == 404
        status, body = await refusal(running, "/v1/realtime", authorization="Bearer cw-unknown")
        assert status == 401 and "invalid_api_key" in body
    async with gateway(tmp_path, "http://127.0.0.1:1", websockets="refuse") as running:
        status, body = await refusal(running, "/v1/realtime")
        assert status == 426 and "websockets_refused" in body
    async with gateway(tmp_path, "http://127.0.0.1:1") as running:
        status, body = await refusal(running, "/v1/realtime")
        assert status == 502 and "upstream_unreachable" in body


async def test_a_slow_reader_holds_the_sender_back(tmp_path: Path) -> None:
    """Neither side is read ahead of without bound: what is in between is less than what was sent."""
    sent = 0
    blocked = asyncio.Event()

    async def flood(socket: ServerConnection) -> None:
        nonlocal sent
        for _ in range(400):
            sending = asyncio.ensure_future(socket.send(b"x" * (1 << 18)))
            done, _ = await asyncio.wait((sending,), timeout=2)
            if not done:
                blocked.set()
            await sending
            sent += 1

    async with (
        speaking(flood, compression=None) as (url, _),
        gateway(tmp_path, url) as running,
        connect(at(running, "/v1/realtime"), max_queue=1, max_size=None, compression=None) as socket,
    ):
        await asyncio.wait_for(blocked.wait(), 60)
        assert sent < 200, "about 50 MB were taken in ahead of the reader"
        assert sum([1 async for _ in limited(socket, 400)]) == 400


async def limited(socket: ClientConnection, count: int) -> AsyncIterator[bytes | str]:
    for _ in range(count):
        yield await socket.recv()
