"""What a tool call costs on each way to the tool, side by side: time, CPU and start.

    python -m benchmarks.tools [--calls 1000] [--out docs/benchmarks.md]

MCP over stdio: direct, our relay, a proxy of FastMCP. MCP over HTTP: direct, and our route. HTTP tools:
direct, our route, mitmproxy bare and with our addon. The ways of a group are measured in turns of a few
calls, so that whatever else the machine does falls on all of them. The clients are the official SDK's,
and one of the standard library's.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click
from mcp import Client, MCPError, StdioServerParameters, stdio_client

from benchmarks.forward_proxy import Way, await_port, forward_ways, free_port
from benchmarks.gateway.machine import machine
from benchmarks.processes import cpu_s, tree
from benchmarks.sections import put_section

TURN = 20
NOISE = "chaos/flaky-tools"
ROOT = Path(__file__).parents[1]
EVERYTHING = "tests/gateway/stdio/node/node_modules/@modelcontextprotocol/server-everything/dist/index.js"
CROSSWIND = str(Path(sys.executable).with_name("crosswind"))


@dataclass
class McpWay:
    """One way to an MCP server, and what was measured on it."""

    name: str
    client: Client
    pids: Sequence[int]
    """The processes between client and server; of the direct way the server's."""
    start_s: float | None
    took_ms: list[float] = field(default_factory=list)
    cpu_s: float = 0.0

    async def measure(self, calls: int, start: int) -> None:
        before = sum(map(cpu_s, self.pids))
        for number in range(start, start + calls):
            began = time.perf_counter()
            with contextlib.suppress(MCPError):
                await self.client.call_tool("echo", {"message": f"message {number}"})
            self.took_ms.append((time.perf_counter() - began) * 1e3)
        self.cpu_s += sum(map(cpu_s, self.pids)) - before


def _command_of(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().rstrip("\0").split("\0")
    except OSError:
        return []


def _stdio_commands(server: Sequence[str], fastmcp: Path, folder: Path) -> Iterator[tuple[str, list[str]]]:
    yield "direct", list(server)
    yield "our relay, off", [CROSSWIND, "mcp", "--", *server]
    events = ["--profile", NOISE, "--events", str(folder / "relay.jsonl")]
    yield f"our relay, {NOISE}", [CROSSWIND, "mcp", *events, "--", *server]
    if fastmcp.exists():
        proxy = ROOT / "benchmarks" / "fastmcp_proxy.py"
        yield "FastMCP's proxy", [str(fastmcp), str(proxy), *server]


@contextlib.asynccontextmanager
async def _stdio_ways(server: Sequence[str], fastmcp: Path, folder: Path) -> AsyncIterator[list[McpWay]]:
    ways = []
    async with contextlib.AsyncExitStack() as stack:
        errors = stack.enter_context((folder / "stdio.log").open("w"))
        for name, (command, *arguments) in _stdio_commands(server, fastmcp, folder):
            known = set(tree(os.getpid()))
            began = time.perf_counter()
            link = stdio_client(
                StdioServerParameters(command=command, args=arguments, env=dict(os.environ)), errlog=errors
            )
            # FastMCP's proxy serves a server of the handshake era to clients of that era only.
            client = await stack.enter_async_context(Client(link, mode="legacy"))
            await client.list_tools()
            start_s = time.perf_counter() - began
            own = [pid for pid in tree(os.getpid()) if pid not in known]
            between = [pid for pid in own if _command_of(pid)[1:] != list(server)[1:]]
            ways.append(McpWay(name, client, between or own, start_s))
        yield ways


@contextlib.contextmanager
def _process(command: Sequence[str], port: int, log: Path, **variables: str) -> Iterator[tuple[int, float]]:
    """A server's process id, and the seconds until it listened."""
    began = time.perf_counter()
    with log.open("w") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=output, env={**os.environ, **variables}, start_new_session=True
        )
        try:
            await_port(port, process)
            yield process.pid, time.perf_counter() - began
        finally:
            process.terminate()
            process.wait()


@contextlib.contextmanager
def _gateway(folder: Path, profile: str, mcp: str, api: str) -> Iterator[tuple[int, int, float]]:
    """A gateway with both kinds of tools: its port, its process, and the seconds until it listened."""
    own = folder / f"gateway-{profile.replace('/', '-')}"
    own.mkdir()
    port, control = free_port(), free_port()
    tools = {
        "mcp": {"everything": {"url": mcp}},
        "apis": {"api": {"url": api, "rules": [{"tool": "items", "method": "GET", "path": "/items"}]}},
    }
    settings = {
        "profile": profile,
        "port": port,
        "control_port": control,
        "store": f"sqlite:///{own / 'store.db'}",
        "upstream": "http://127.0.0.1:9/v1",
        "tools": tools,
    }
    (own / "crosswind.yaml").write_text(json.dumps(settings))
    command = [CROSSWIND, "serve", "--config", str(own / "crosswind.yaml")]
    with _process(command, port, own / "log") as (pid, start_s):
        yield port, pid, start_s


async def _in_turns(ways: Sequence[McpWay], calls: int) -> None:
    for start in range(-TURN, calls, TURN):
        for way in ways:
            await way.measure(TURN, start + TURN)
        if start < 0:  # To warm up.
            for way in ways:
                way.took_ms, way.cpu_s = [], 0.0


def _table(title: str, calls: int, ways: Sequence[McpWay | Way]) -> str:
    direct = statistics.median(ways[0].took_ms)
    lines = [
        f"| {title} | p50 ms | p99 ms | p50, of direct | CPU ms per call | start s |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for way in ways:
        took, cpu = sorted(way.took_ms), way.cpu_s / calls * 1e3
        p50, p99 = statistics.median(took), took[int(len(took) * 0.99)]
        start = "" if way.start_s is None else f"{way.start_s:.2f}"
        lines.append(f"| {way.name} | {p50:.2f} | {p99:.2f} | {p50 / direct:.2f} × | {cpu:.2f} | {start} |")
    return "\n".join(lines)


async def _measure(folder: Path, calls: int, server: list[str], fastmcp: Path) -> list[str]:
    tables = []
    async with _stdio_ways(server, fastmcp, folder) as ways:
        await _in_turns(ways, calls)
        tables.append(_table("MCP over stdio", calls, ways))
    port = free_port()
    mcp = f"http://127.0.0.1:{port}/mcp"
    with contextlib.ExitStack() as stack:
        pid, start_s = stack.enter_context(
            _process([*server, "streamableHttp"], port, folder / "http.log", PORT=str(port))
        )
        forward = stack.enter_context(forward_ways(folder))
        api = f"http://127.0.0.1:{forward[0].port}"
        gateways = {name: stack.enter_context(_gateway(folder, name, mcp, api)) for name in ("off", NOISE)}
        urls = {"direct": (mcp, pid, start_s)}
        for name, (own, gateway, took) in gateways.items():
            urls[f"our route, {name}"] = (f"http://127.0.0.1:{own}/s/mcp/mcp/everything", gateway, took)
            forward.append(Way(f"our route, {name}", own, gateway, took, "/s/http/tools/api"))
        async with contextlib.AsyncExitStack() as clients:
            over_http = [
                McpWay(name, await clients.enter_async_context(Client(url, mode="legacy")), [process], took)
                for name, (url, process, took) in urls.items()
            ]
            await _in_turns(over_http, calls)
        tables.append(_table("MCP over HTTP", calls, over_http))
        for start in range(-TURN, calls, TURN):
            for way in forward:
                way.measure(forward[0].port, TURN, start + TURN)
            if start < 0:
                for way in forward:
                    way.took_ms, way.cpu_s = [], 0.0
        tables.append(_table("an HTTP API", calls, forward))
    return tables


@click.command()
@click.option("--calls", type=click.IntRange(min=TURN), default=1000, show_default=True)
@click.option("--fastmcp", type=click.Path(path_type=Path), default=Path(".venv-fastmcp/bin/python"))
@click.option("--out", type=click.Path(path_type=Path), help="Write the tables into this page's section.")
def main(calls: int, fastmcp: Path, out: Path | None) -> None:
    """Measure a tool call on each way to the tool."""
    node = shutil.which("node")
    if node is None or not (ROOT / EVERYTHING).exists():
        raise click.ClickException("the reference server is missing: install Node 18; make tool-servers")
    about, server = machine(), [node, str(ROOT / EVERYTHING)]
    with tempfile.TemporaryDirectory() as folder:
        tables = asyncio.run(_measure(Path(folder), calls, server, fastmcp.absolute()))
    sdk = importlib.metadata.version("mcp")
    head = textwrap.fill(
        f"By `make bench-tools`: {calls} calls on each way, one by one, a table's ways in turns of {TURN}. "
        f"Machine: {about['cores']} cores ({about['processor']}), {about['memory_gb']} GB; load "
        f"{about['load_before']} before the start, {os.getloadavg()[0]:.1f} at the end. "
        f"MCP: the client of the SDK for Python {sdk}, and the server `server-everything`. "
        "CPU: of the processes between client and server; in the first row, the server's. "
        "Start: until the list of tools is there; over HTTP, until it listens.",
        width=110,
    )
    text = "\n\n".join(["## Tool calls", head, *tables])
    click.echo(text)
    if out is not None:
        put_section(out, "tools", text)


if __name__ == "__main__":
    main()
