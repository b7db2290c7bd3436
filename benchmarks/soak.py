"""Memory of one worker: `python -m benchmarks.soak`; prints its figures beside its settings.

First thousands of streams are held open at once, with noise and strict recording on; then comes a long run of
turns, plain and streamed, in sessions that come and go: its memory must level off.
"""

from __future__ import annotations

import asyncio
import json
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import click

from crosswind.gateway.http.server import allow_many_connections

MARKS = 10
LIVE_SESSIONS = 100
"""Few, so that the run is long beside what is kept on purpose."""
TURNS = 10
FIRST = b'data: {"id":"r","choices":[{"index":0,"delta":{"content":"word "},"finish_reason":null}]}\n\n'
LAST = b'data: {"id":"r","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
PLAIN = json.dumps(
    {
        "id": "r",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "word"}, "finish_reason": "stop"}
        ],
    }
).encode()


@dataclass
class Upstream:
    """Answers chat requests; the end of a stream waits until it is `going`."""

    going: asyncio.Event = field(default_factory=asyncio.Event)
    port: int = 0
    connections: set[asyncio.StreamWriter] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections.add(writer)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
                body = await reader.readexactly(int(length[1]) if length else 0)
                if b'"stream": true' in body:
                    await self._stream(writer)
                else:
                    writer.write(_head(b"application/json", b"content-length: %d" % len(PLAIN)) + PLAIN)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            self.connections.discard(writer)

    async def _stream(self, writer: asyncio.StreamWriter) -> None:
        writer.write(_head(b"text/event-stream", b"transfer-encoding: chunked") + _chunk(FIRST))
        await writer.drain()
        await self.going.wait()
        writer.write(_chunk(LAST) + b"0\r\n\r\n")


def _head(kind: bytes, length: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-type: " + kind + b"\r\n" + length + b"\r\n\r\n"


def _chunk(body: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(body), body)


@asynccontextmanager
async def scripted() -> AsyncIterator[Upstream]:
    """The upstream, in this process."""
    upstream = Upstream()
    server = await asyncio.start_server(upstream.serve, "127.0.0.1", 0, backlog=4096)
    upstream.port = server.sockets[0].getsockname()[1]
    try:
        yield upstream
    finally:
        server.close()
        while upstream.connections:
            for writer in upstream.connections:
                writer.close()
            await asyncio.sleep(0.01)


@dataclass(frozen=True)
class Gateway:
    """The process that is measured."""

    pid: int
    port: int

    def memory(self) -> float:
        """Resident memory in MB."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024


@contextmanager
def gateway(upstream: int, profile: str) -> Iterator[Gateway]:
    """`crosswind serve` with one worker, strict recording and a noise profile."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        config = Path(folder) / "crosswind.yaml"
        config.write_text(
            f"upstream: http://127.0.0.1:{upstream}/v1\nport: 0\ncontrol_port: 0\nprofile: {profile}\n"
            f"store: sqlite:///{folder}/store.db\ndurability_wait: 60\nlog: {{level: error}}\n"
            f"limits: {{live_sessions: {LIVE_SESSIONS}}}\n"
        )
        process = subprocess.Popen(
            [sys.executable, "-m", "crosswind.gateway.cli", "serve", "--config", str(config)],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        try:
            line = process.stderr.readline()
            found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
            if found is None:
                raise click.ClickException(f"the gateway did not start: {line}{process.stderr.read()}")
            yield Gateway(process.pid, int(found[1]))
        finally:
            process.terminate()
            process.communicate()


class Client:
    """One connection that asks and reads to the end."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def connect(cls, port: int) -> Client:
        while True:
            try:
                return cls(*await asyncio.open_connection("127.0.0.1", port))
            except ConnectionRefusedError:
                await asyncio.sleep(0.05)

    def ask(self, session: str, messages: list[dict[str, str]], *, stream: bool) -> None:
        body = json.dumps({"model": "m", "messages": messages, "stream": stream}).encode()
        self._writer.write(
            b"POST /s/%b/v1/chat/completions HTTP/1.1\r\nhost: localhost\r\n"
            b"content-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
            % (session.encode(), len(body), body)
        )

    async def until(self, end: bytes) -> None:
        await self._reader.readuntil(end)

    async def plain(self) -> None:
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
        if length is None or b" 200 " not in head.splitlines()[0]:
            raise click.ClickException(f"not answered: {head!r}")
        await self._reader.readexactly(int(length[1]))

    def close(self) -> None:
        self._writer.close()


async def open_streams(gateway: Gateway, upstream: Upstream, count: int, text: str) -> tuple[float, float]:
    """Memory with so many streams open, and after they ended, in MB."""
    upstream.going.clear()
    limit = asyncio.Semaphore(64)

    async def begin(number: int) -> Client:
        async with limit:
            client = await Client.connect(gateway.port)
            client.ask(f"stream-{number}", [{"role": "user", "content": text}], stream=True)
            await client.until(b"word ")
            return client

    clients = await asyncio.gather(*(begin(number) for number in range(count)))
    held = gateway.memory()
    upstream.going.set()
    await asyncio.gather(*(client.until(b"0\r\n\r\n") for client in clients))
    for client in clients:
        client.close()
    return held, gateway.memory()


async def soak(gateway: Gateway, upstream: Upstream, turns: int, clients: int, text: str) -> list[float]:
    """Memory at each tenth of the run, in MB."""
    upstream.going.set()
    share = turns // clients // TURNS // MARKS
    marks: list[float] = []
    pool = [await Client.connect(gateway.port) for _ in range(clients)]
    for mark in range(MARKS):
        await asyncio.gather(
            *(_lead(client, f"{mark}-{number}", share, text) for number, client in enumerate(pool))
        )
        marks.append(gateway.memory())
    return marks


async def _lead(client: Client, name: str, sessions: int, text: str) -> None:
    for session in range(sessions):
        messages: list[dict[str, str]] = []
        for turn in range(TURNS):
            messages.append({"role": "user", "content": f"{turn} {text}"})
            stream = turn % 2 == 1
            client.ask(f"soak-{name}-{session}", messages, stream=stream)
            await (client.until(b"0\r\n\r\n") if stream else client.plain())
            messages.append({"role": "assistant", "content": "word"})


async def measure(streams: int, turns: int, clients: int, text_bytes: int, profile: str) -> None:
    text = ("Please check order W17 for 120.50 by Monday. " * (text_bytes // 45 + 1))[:text_bytes]
    async with scripted() as upstream:
        with gateway(upstream.port, profile) as served:
            first = await Client.connect(served.port)
            first.close()
            idle = served.memory()
            held, after = await open_streams(served, upstream, streams, text)
            click.echo(f"idle {idle:.0f} MB; {streams} open streams {held:.0f} MB; after them {after:.0f} MB")
            begun = time.monotonic()
            marks = await soak(served, upstream, turns, clients, text)
            took = time.monotonic() - begun
    done = turns // clients // TURNS // MARKS * clients * TURNS * MARKS
    click.echo(f"soak of {done} turns in {took:.0f} s; MB at each tenth of it:")
    click.echo(" ".join(f"{mark:.0f}" for mark in marks))


@click.command()
@click.option("--streams", default=2000, show_default=True, help="Streams that are open at once.")
@click.option("--turns", default=20_000, show_default=True, help="Turns of the soak.")
@click.option("--clients", default=50, show_default=True, help="Connections of the soak.")
@click.option("--text-bytes", default=2000, show_default=True, help="New text of each turn.")
@click.option("--profile", default="noisyagent", show_default=True)
def main(streams: int, turns: int, clients: int, text_bytes: int, profile: str) -> None:
    """Memory of one worker with many open streams, and over a long run."""
    allow_many_connections()
    click.echo(
        f"{platform.machine()}, Python {platform.python_version()}; one worker, strict recording, "
        f"profile {profile}, {text_bytes} bytes of new text a turn, sessions of {TURNS} turns, "
        f"{LIVE_SESSIONS} kept in memory"
    )
    asyncio.run(measure(streams, turns, clients, text_bytes, profile))


if __name__ == "__main__":
    main()
