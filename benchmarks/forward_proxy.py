"""The ways to an HTTP API: direct, through bare mitmproxy, and through it with our addon."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.processes import cpu_s
from crosswind.gateway.forward.environment import MITMPROXY
from crosswind.gateway.forward.proxy import MitmProxy, run_folder
from crosswind.gateway.forward.settings import ProxySettings

BODY = json.dumps({"items": [{"id": f"A-{number}", "title": f"Lamp {number}"} for number in range(20)]})
_API = f"""
async def app(scope, receive, send):
    if scope["type"] == "http":
        body = {BODY.encode()!r}
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({{"type": "http.response.start", "status": 200, "headers": headers}})
        await send({{"type": "http.response.body", "body": body}})
"""


@dataclass
class Way:
    """One way to the API, and what was measured on it."""

    name: str
    port: int
    pid: int
    start_s: float | None = None
    prefix: str | None = None
    """Of the path, where it is a reverse proxy."""
    took_ms: list[float] = field(default_factory=list)
    cpu_s: float = 0.0

    def measure(self, api: int, calls: int, start: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        before = cpu_s(self.pid)
        for number in range(start, start + calls):
            began = time.perf_counter()
            path = f"/items?n={number}"
            connection.request("GET", self._target(api, path))
            connection.getresponse().read()
            self.took_ms.append((time.perf_counter() - began) * 1e3)
        self.cpu_s += cpu_s(self.pid) - before
        connection.close()

    def _target(self, api: int, path: str) -> str:
        if self.prefix is not None:
            return self.prefix + path
        return path if self.port == api else f"http://127.0.0.1:{api}{path}"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


def await_port(port: int, process: subprocess.Popen[bytes] | None = None) -> None:
    while process is None or process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise RuntimeError(f"{process.args!r} ended with {process.returncode} before it listened")


@contextlib.contextmanager
def _process(command: list[str], folder: Path) -> Iterator[int]:
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def forward_ways(folder: Path) -> Iterator[list[Way]]:
    python = MITMPROXY.install()
    (folder / "api.py").write_text(_API)
    api, bare = free_port(), free_port()
    with contextlib.ExitStack() as stack:
        serve = [sys.executable, "-m", "uvicorn", "api:app", "--port", str(api), "--log-level", "error"]
        ways = [Way("direct", api, stack.enter_context(_process(serve, folder)))]
        dump = [str(python.parent / "mitmdump"), "-q", "--set", f"confdir={folder / 'bare'}"]
        dump += ["--listen-host", "127.0.0.1", "--listen-port", str(bare)]
        ways.append(Way("bare mitmproxy", bare, stack.enter_context(_process(dump, folder))))
        for name, profile in (
            ("mitmproxy with our addon, off", "off"),
            ("mitmproxy with our addon, chaos/flaky-tools", "chaos/flaky-tools"),
        ):
            own = stack.enter_context(run_folder())
            events = str(folder / f"{len(ways)}.jsonl")

            def make(
                status: int, lifeline: int, own: Path = own, profile: str = profile, events: str = events
            ) -> ProxySettings:
                return ProxySettings(
                    folder=str(own),
                    status_fd=status,
                    lifeline_fd=lifeline,
                    session="s",
                    profile=profile,
                    events=events,
                )

            modes = ["regular@127.0.0.1:0"]
            proxy = stack.enter_context(MitmProxy(python, own, make, modes, ready_within_s=120))
            ways.append(Way(name, proxy.ports[0], proxy.pid))
        for way in ways:
            await_port(way.port)
        yield ways
