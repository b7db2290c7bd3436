"""What our addon costs beside bare mitmproxy: milliseconds and CPU per call of an HTTP tool, side by side.

    python -m benchmarks.forward_proxy [--calls 2000]

All four are measured in turns of a few calls, so that whatever else the machine does falls on all of them.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from crosswind.gateway.forward.environment import install
from crosswind.gateway.forward.proxy import MitmProxy, run_folder
from crosswind.gateway.forward.settings import ProxySettings

TURN = 50
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
    took_ms: list[float] = field(default_factory=list)
    cpu_s: float = 0.0

    def measure(self, api: int, calls: int, start: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        before = _cpu(self.pid)
        for number in range(start, start + calls):
            began = time.perf_counter()
            path = f"/items?n={number}"
            connection.request("GET", path if self.port == api else f"http://127.0.0.1:{api}{path}")
            connection.getresponse().read()
            self.took_ms.append((time.perf_counter() - began) * 1e3)
        self.cpu_s += _cpu(self.pid) - before
        connection.close()


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


def _await_port(port: int) -> None:
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)


@contextlib.contextmanager
def _process(command: list[str], folder: Path) -> Iterator[int]:
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def _ways(folder: Path) -> Iterator[list[Way]]:
    environment = install()
    (folder / "api.py").write_text(_API)
    api, bare = _free_port(), _free_port()
    with contextlib.ExitStack() as stack:
        serve = [sys.executable, "-m", "uvicorn", "api:app", "--port", str(api), "--log-level", "error"]
        ways = [Way("direct", api, stack.enter_context(_process(serve, folder)))]
        dump = [str(environment.python.parent / "mitmdump"), "-q", "--set", f"confdir={folder / 'bare'}"]
        dump += ["--listen-host", "127.0.0.1", "--listen-port", str(bare)]
        ways.append(Way("bare mitmproxy", bare, stack.enter_context(_process(dump, folder))))
        for name, profile in (("ours, recording", "off"), ("ours, chaos/flaky-tools", "chaos/flaky-tools")):
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
            proxy = stack.enter_context(MitmProxy(environment, own, make, modes, ready_within_s=120))
            ways.append(Way(name, proxy.ports[0], proxy.pid))
        for way in ways:
            _await_port(way.port)
        yield ways


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.forward_proxy")
    parser.add_argument("--calls", type=int, default=2000)
    calls = parser.parse_args().calls
    with tempfile.TemporaryDirectory() as folder, _ways(Path(folder)) as ways:
        api = ways[0].port
        for start in range(-TURN, calls, TURN):
            for way in ways:
                way.measure(api, TURN, start + TURN)
            if start < 0:  # To warm up.
                for way in ways:
                    way.took_ms, way.cpu_s = [], 0.0
    bare = ways[1]
    print(
        f"| {calls} calls, one by one | p50 ms | p99 ms | CPU ms of its process | CPU, of bare mitmproxy's |"
    )
    print("|---|---|---|---|---|")
    for way in ways:
        took, cpu = sorted(way.took_ms), way.cpu_s / calls * 1e3
        shown = f"{cpu / (bare.cpu_s / calls * 1e3):.2f} ×"
        p50, p99 = statistics.median(took), took[int(len(took) * 0.99)]
        print(f"| {way.name} | {p50:.2f} | {p99:.2f} | {cpu:.2f} | {shown} |")


if __name__ == "__main__":
    main()
