"""Real servers over loopback sockets: the gateway with both its planes, and an upstream that follows a
script.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from crosswind.gateway.app import create_app
from crosswind.gateway.config.loading import load
from crosswind.gateway.config.settings import Settings
from crosswind.gateway.control.application import create_control
from crosswind.gateway.http.server import make_server
from crosswind.gateway.peers.peers import Crew
from crosswind.gateway.runtime import Gateway
from crosswind.gateway.trajectory.record import Durable, Setting

Reply = Callable[["Seen"], AsyncIterator["Part"]]
Part = tuple[int, list[tuple[bytes, bytes]]] | bytes
"""First the head, then chunks of the body."""

CUT = b"\x00cut"
"""A chunk that isn't sent: the upstream breaks the connection in its place."""


@dataclass
class Seen:
    """A request as it reached the upstream."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def texts(self) -> list[Any]:
        return [message["content"] for message in self.json["messages"]]


@dataclass
class Upstream:
    """What an upstream saw, and what it says next: one reply per request, the last one again and again."""

    replies: list[Reply] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    left: asyncio.Event = field(default_factory=asyncio.Event)
    """The client of a request went away before the answer was complete."""
    url: str = ""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        path = scope["raw_path"].decode() + (
            "?" + scope["query_string"].decode() if scope["query_string"] else ""
        )
        headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
        request = Seen(scope["method"], path, headers, body)
        self.seen.append(request)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        answering = asyncio.create_task(self._answer(reply, request, send))
        leaving = asyncio.create_task(receive())
        await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            answering.cancel()
            self.left.set()
        leaving.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await answering

    async def _answer(self, reply: Reply, request: Seen, send: Any) -> None:
        async for part in reply(request):
            if isinstance(part, tuple):
                await send({"type": "http.response.start", "status": part[0], "headers": part[1]})
            elif part == CUT:
                return
            else:
                await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


JSON = (b"content-type", b"application/json")
SSE = (b"content-type", b"text/event-stream; charset=utf-8")


def plain(body: bytes | dict[str, Any], status: int = 200, *headers: tuple[bytes, bytes]) -> Reply:
    """A reply with this body."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()

    async def reply(_: Seen) -> AsyncIterator[Part]:
        yield status, [JSON, (b"content-length", str(len(raw)).encode()), *headers]
        yield raw

    return reply


def chunks(*parts: bytes, before: Callable[[int], Awaitable[Any]] | None = None) -> Reply:
    """A streamed reply; `before` is awaited with each part's number before it is sent."""

    async def reply(_: Seen) -> AsyncIterator[Part]:
        yield 200, [SSE]
        for number, part in enumerate(parts):
            if before is not None:
                await before(number)
            yield part

    return reply


def answer(text: str = "hello", **more: Any) -> dict[str, Any]:
    """A plain chat completion."""
    message = {"role": "assistant", "content": text}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "tiny",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
        **more,
    }


def event(choices: list[dict[str, Any]], **more: Any) -> bytes:
    """One chunk of a streamed chat completion."""
    head = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "tiny",
        "choices": choices,
    }
    return b"data: " + json.dumps(head | more).encode() + b"\n\n"


def delta(content: str | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """One choice of a chunk."""
    part = {} if content is None else {"content": content}
    return {"index": 0, "delta": part, "finish_reason": finish, **more}


DONE = b"data: [DONE]\n\n"


@dataclass
class Running:
    """A gateway that runs."""

    gateway: Gateway
    data: str
    control: str
    http: httpx.AsyncClient

    async def chat(self, body: Any, session: str | None = None, **headers: str) -> httpx.Response:
        """Post a chat request; `body` as bytes goes as it is."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        path = "/v1/chat/completions" if session is None else f"/s/{session}/v1/chat/completions"
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.http.post(
            self.data + path, content=raw, headers={"content-type": "application/json", **named}
        )

    async def api(self, method: str, path: str, body: Any = None) -> httpx.Response:
        return await self.http.request(method, self.control + path, json=body)

    async def flush(self) -> None:
        """Wait until everything that was queued so far is on disk: the writer keeps the order."""
        recorder = self.gateway.recorder
        row = Setting("test", "flush", {}, 0)
        while await recorder.durable(recorder.submit([row]), 10) is not Durable.YES:
            await asyncio.to_thread(lambda: None)

    async def trajectory(self, session: str) -> dict[str, Any]:
        """The session as it is stored."""
        await self.flush()
        return (await self.api("GET", f"/api/sessions/{session}/trajectory")).json()


def listener() -> socket.socket:
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.bind(("127.0.0.1", 0))
    bound.listen(64)
    bound.setblocking(False)
    return bound


@contextlib.asynccontextmanager
async def serving(server: uvicorn.Server, bound: socket.socket) -> AsyncIterator[str]:
    """A server that runs within the block."""
    # Without uvicorn's main loop and shutdown, which would take tenths of a second to notice that it is to
    # end.
    server.config.load()
    server.lifespan = server.config.lifespan_class(server.config)
    await server.startup([bound])
    try:
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    finally:
        for listening in server.servers:
            listening.close()
        for connection in list(server.server_state.connections):
            connection.shutdown()
        await asyncio.gather(*server.server_state.tasks, return_exceptions=True)


@contextlib.asynccontextmanager
async def upstream(*replies: Reply) -> AsyncIterator[Upstream]:
    """A scripted upstream that runs within the block."""
    app = Upstream(list(replies) or [plain(answer())])
    quiet: dict[str, Any] = {"log_config": None, "server_header": False, "date_header": False}
    # An idle connection outlasts any pause of the machine: whoever asks again must not find it closed.
    config = uvicorn.Config(app, loop="none", lifespan="off", ws="none", timeout_keep_alive=600, **quiet)
    async with serving(uvicorn.Server(config), listener()) as url:
        app.url = url
        yield app


def settings(tmp: Path, url: str, **given: Any) -> Settings:
    # However slow the disk is, nothing is released late unless a test wants that.
    usual = {"upstream": f"{url}/v1", "store": f"sqlite:///{tmp}/store.db", "seed": 7, "durability_wait": 60}
    return load(None, {**usual, **given})


@contextlib.asynccontextmanager
async def gateway(
    tmp: Path,
    to: Upstream | str,
    crew: Crew | None = None,
    *,
    source: Callable[[], Settings] | None = None,
    **given: Any,
) -> AsyncIterator[Running]:
    """A gateway that runs within the block, in front of an upstream. `source`: what a reload reads."""
    data, control = listener(), listener()
    url = to if isinstance(to, str) else to.url
    given = {"port": data.getsockname()[1], "control_port": control.getsockname()[1], **given}
    built = create_app(settings(tmp, url, **given), crew, source)
    built.start()
    try:
        async with (
            serving(make_server(built.settings, built.data, websockets=True), data) as data_url,
            serving(make_server(built.settings, create_control(built)), control) as control_url,
            httpx.AsyncClient(
                trust_env=False, timeout=60, headers={"accept-encoding": "gzip, deflate"}
            ) as http,
        ):
            yield Running(built, data_url, control_url, http)
    finally:
        await built.close()
