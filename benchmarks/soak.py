"""Memory of one worker: `python -m benchmarks.soak`; prints its figures beside its settings.

First thousands of connections are idle; then thousands of streams are held open at once, with noise and
strict recording on; then comes a long run of turns, plain and streamed, in sessions that come and go: its
memory must level off.
"""

from __future__ import annotations

import asyncio
import platform
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import click

from benchmarks.processes import DidNotStart, Process, run_server
from crosswind.gateway.http.server import allow_many_connections
from crosswind.studies.stack import free_port
from crosswind.testing import ReceivedRequest, Reply, ScriptedProvider, chunks, plain

MARKS = 10
LIVE_SESSIONS = 100
"""Few, so that the run is long beside what is kept on purpose."""
TURNS = 10
FIRST = b'data: {"id":"r","choices":[{"index":0,"delta":{"content":"word "},"finish_reason":null}]}\n\n'
LAST = b'data: {"id":"r","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
MESSAGE = {"role": "assistant", "content": "word"}
PLAIN = {"id": "r", "choices": [{"index": 0, "message": MESSAGE, "finish_reason": "stop"}]}


def make_reply(going: asyncio.Event) -> Reply:
    """Answers chat requests; the end of a stream waits until it is `going`."""

    async def wait(part: int) -> None:
        if part:
            await going.wait()

    stream, whole = chunks(FIRST, LAST, before=wait), plain(PLAIN)

    async def reply(request: ReceivedRequest) -> AsyncIterator[Any]:
        async for part in (stream if request.json["stream"] else whole)(request):
            yield part

    return reply


@dataclass(frozen=True, slots=True)
class Client:
    """Leads sessions at the gateway."""

    http: aiohttp.ClientSession
    url: str

    async def ask(
        self, session: str, messages: list[dict[str, str]], *, stream: bool
    ) -> aiohttp.ClientResponse:
        """The answer, of which the head has come."""
        body = {"model": "m", "messages": messages, "stream": stream}
        answer = await self.http.post(f"{self.url}/s/{session}/v1/chat/completions", json=body)
        if answer.status != 200:
            raise click.ClickException(f"not answered: {answer.status} {await answer.text()}")
        return answer

    async def lead(self, name: str, sessions: int, text: str) -> None:
        """So many sessions, one after the other."""
        for session in range(sessions):
            messages: list[dict[str, str]] = []
            for turn in range(TURNS):
                messages.append({"role": "user", "content": f"{turn} {text}"})
                answer = await self.ask(f"soak-{name}-{session}", messages, stream=turn % 2 == 1)
                await answer.read()
                messages.append(MESSAGE)


def open_client() -> aiohttp.ClientSession:
    """Any number of connections to the gateway, and as long as they take."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0), timeout=aiohttp.ClientTimeout(total=None)
    )


async def open_idle(port: int, process: Process, count: int) -> float:
    """Memory with so many connections on which nothing was sent, in MB."""
    opened = [await asyncio.open_connection("127.0.0.1", port) for _ in range(count)]
    held = process.rss_mb()
    for _, writer in opened:
        writer.close()
    return held


async def open_streams(
    client: Client, process: Process, going: asyncio.Event, count: int, text: str
) -> tuple[float, float]:
    """Memory with so many streams open, and after they ended, in MB."""
    limit = asyncio.Semaphore(64)

    async def begin(number: int) -> aiohttp.ClientResponse:
        async with limit:
            messages = [{"role": "user", "content": text}]
            answer = await client.ask(f"stream-{number}", messages, stream=True)
            await answer.content.readuntil(b"word ")
            return answer

    answers = await asyncio.gather(*(begin(number) for number in range(count)))
    held = process.rss_mb()
    going.set()
    await asyncio.gather(*(answer.read() for answer in answers))
    return held, process.rss_mb()


async def soak(client: Client, process: Process, share: int, clients: int, text: str) -> list[float]:
    """Memory at each tenth of the run, in MB. `share`: the sessions of a client between two marks."""
    marks: list[float] = []
    for mark in range(MARKS):
        await asyncio.gather(*(client.lead(f"{mark}-{number}", share, text) for number in range(clients)))
        marks.append(process.rss_mb())
    return marks


async def measure(
    connections: int, streams: int, turns: int, clients: int, text_bytes: int, profile: str, place: Path
) -> None:
    text = ("Please check order W17 for 120.50 by Monday. " * (text_bytes // 45 + 1))[:text_bytes]
    going, port, control = asyncio.Event(), free_port(), free_port()
    async with ScriptedProvider(make_reply(going), keep=False) as provider:
        command = [
            *(sys.executable, "-m", "crosswind.gateway.cli", "serve", "--upstream", provider.base_url),
            *("--port", str(port), "--control-port", str(control), "--profile", profile),
            *("--store", f"sqlite:///{place}/store.db"),
        ]
        environment = {
            "CROSSWIND_DURABILITY_WAIT": "60",
            "CROSSWIND_LOG__LEVEL": "error",
            "CROSSWIND_LIMITS__LIVE_SESSIONS": str(LIVE_SESSIONS),
        }
        probe = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
        log, url = place / "gateway.log", f"http://127.0.0.1:{port}"
        # The control plane answers last: all is imported then.
        with run_server(command, port=control, probe=probe, log=log, environment=environment) as process:
            click.echo(f"after the start {process.rss_mb():.0f} MB; ", nl=False)
            click.echo(f"{connections} idle connections {await open_idle(port, process, connections):.0f} MB")
            async with open_client() as http:
                held, after = await open_streams(Client(http, url), process, going, streams, text)
            click.echo(f"{streams} open streams {held:.0f} MB; after them {after:.0f} MB")
            begun, share = time.monotonic(), -(-turns // (clients * TURNS * MARKS))
            async with open_client() as http:
                marks = await soak(Client(http, url), process, share, clients, text)
            took = time.monotonic() - begun
    click.echo(f"soak of {share * clients * TURNS * MARKS} turns in {took:.0f} s; MB at each tenth of it:")
    click.echo(" ".join(f"{mark:.0f}" for mark in marks))


@click.command()
@click.option("--connections", default=10_000, show_default=True, help="Idle connections.")
@click.option("--streams", default=2000, show_default=True, help="Streams that are open at once.")
@click.option("--turns", default=20_000, show_default=True, help="Turns of the soak.")
@click.option("--clients", default=50, show_default=True, help="Connections of the soak.")
@click.option("--text-bytes", default=2000, show_default=True, help="New text of each turn.")
@click.option("--profile", default="noisyagent", show_default=True)
def main(connections: int, streams: int, turns: int, clients: int, text_bytes: int, profile: str) -> None:
    """Memory of one worker with many idle connections, with many open streams, and over a long run."""
    allow_many_connections()
    click.echo(
        f"{platform.machine()}, Python {platform.python_version()}; one worker, strict recording, "
        f"profile {profile}, {text_bytes} bytes of new text a turn, sessions of {TURNS} turns, "
        f"{LIVE_SESSIONS} kept in memory"
    )
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            asyncio.run(measure(connections, streams, turns, clients, text_bytes, profile, Path(folder)))
        except DidNotStart as error:
            raise click.ClickException(str(error)) from None


if __name__ == "__main__":
    main()
