"""Real servers over loopback sockets: the gateway with both its planes, and an upstream that follows a
script.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from crosswind.gateway.app import create_app
from crosswind.gateway.config.loading import load
from crosswind.gateway.config.settings import Settings
from crosswind.gateway.control.application import create_control
from crosswind.gateway.http.asgi import AsgiServer
from crosswind.gateway.http.server import HttpServer
from crosswind.gateway.peers.peers import Peers
from crosswind.gateway.runtime import Gateway
from crosswind.gateway.trajectory.record import Durable, Setting
from crosswind.loopback_server import listen, run_server
from crosswind.testing import ScriptedProvider, Step, plain
from crosswind.testing.replies import Part, ReceivedRequest, Reply


@contextlib.asynccontextmanager
async def serving(server: HttpServer, listener: socket.socket) -> AsyncIterator[str]:
    """Serve on a socket within the block; gives the root URL. What goes on at its end is let end."""
    await server.start(listener)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        await server.close()


async def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for something that the gateway does in the background and announces to nobody."""
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


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
        while await recorder.submit([row]).outcome(10) is not Durable.YES:
            await asyncio.to_thread(lambda: None)

    async def sessions(self) -> list[dict[str, Any]]:
        """All sessions as they are stored."""
        await self.flush()
        return (await self.api("GET", "/api/sessions")).json()["sessions"]

    async def trajectory(self, session: str) -> dict[str, Any]:
        """The session as it is stored."""
        await self.flush()
        return (await self.api("GET", f"/api/sessions/{session}/trajectory")).json()


@contextlib.asynccontextmanager
async def connection(running: Running) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A raw connection to the data plane."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(running.data.rpartition(":")[2]))
    try:
        yield reader, writer
    finally:
        writer.close()


async def read_stream(answer: httpx.Response, then: Callable[[bytes], object] = bool) -> bytes:
    """All bytes of a streamed answer; `then` is called with those so far after each part."""
    got = b""
    async for part in answer.aiter_raw():
        got += part
        then(got)
    return got


def raising(error: Exception) -> Callable[..., Any]:
    """A function that fails."""

    def fail(*_: object, **__: object) -> Any:
        raise error

    return fail


@contextlib.contextmanager
def peak_memory() -> Iterator[Callable[[], int]]:
    """How many bytes were allocated at most within the block, by tracemalloc."""
    tracemalloc.start()
    try:
        yield lambda: tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def computed(make: Callable[[ReceivedRequest], Any]) -> Reply:
    """A reply whose body is made from the request."""

    async def reply(seen: ReceivedRequest) -> AsyncIterator[Part]:
        async for part in plain(make(seen))(seen):
            yield part

    return reply


def upstream(*steps: Step) -> ScriptedProvider:
    """A scripted upstream; without a step each answer says hello."""
    return ScriptedProvider(*(steps or [plain(answer())]), strict=False, names_in_two=True)


def settings(tmp: Path, url: str, noise: str | None = None, **given: Any) -> Settings:
    """Settings for a test. `noise`: a profile's YAML."""
    if noise is not None:
        (tmp / "noise.yaml").write_text(noise)
        given["profile"] = str(tmp / "noise.yaml")
    # However slow the disk is, nothing is released late, nor refused, unless a test wants that.
    patient = {"durability_wait": 60, "acknowledge_wait": 60}
    usual = {"upstream": f"{url}/v1", "store": f"sqlite:///{tmp}/store.db", "seed": 7, **patient}
    return load(None, {**usual, **given})


@contextlib.asynccontextmanager
async def gateway(
    tmp: Path,
    to: ScriptedProvider | str,
    peers: Peers | None = None,
    *,
    source: Callable[[], Settings] | None = None,
    **given: Any,
) -> AsyncIterator[Running]:
    """A gateway that runs within the block, in front of an upstream. `source`: what a reload reads."""
    data, control = listen(), listen()
    url = to if isinstance(to, str) else to.url
    given = {"port": data.getsockname()[1], "control_port": control.getsockname()[1], **given}
    built = create_app(settings(tmp, url, **given), peers, source)
    built.start()
    try:
        async with (
            serving(HttpServer(built.data_connections, built.data.serve), data) as data_url,
            run_server(AsgiServer(built.control_connections, create_control(built)), control) as control_url,
            httpx.AsyncClient(
                trust_env=False, timeout=60, headers={"accept-encoding": "gzip, deflate"}
            ) as http,
        ):
            yield Running(built, data_url, control_url, http)
    finally:
        await built.close()
