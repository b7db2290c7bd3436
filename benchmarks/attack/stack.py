"""The gateway under attack: started as an operator would, on free ports, and its processes."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from benchmarks.processes import DidNotStart, Process, run_server, tree
from crosswind.studies.stack import free_port

COMMAND = (sys.executable, "-m", "crosswind.gateway.cli")
PATIENT = {"CROSSWIND_DURABILITY_WAIT": "600", "CROSSWIND_ACKNOWLEDGE_WAIT": "600"}
"""No turn is released before it is on disk, however slow the disk: that would be no acknowledgement."""
_QUIET = {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "CROSSWIND_LOG__LEVEL": "warning"}
_POLL_S = 0.05
_PORT_TRIES = 5


@dataclass(frozen=True)
class Gateway:
    """A gateway that runs."""

    process: Process
    data: int
    control: int
    log: Path

    @property
    def pid(self) -> int:
        return self.process.root.pid

    async def workers(self) -> list[int]:
        """The process ids of its workers; empty where there is one process only."""
        return [worker["pid"] for worker in (await self._ready()).get("workers", ())]

    async def is_whole(self) -> bool:
        """Whether all its processes serve."""
        return (await self._ready()).get("status") == "ok"

    async def _ready(self) -> dict[str, Any]:
        async with httpx.AsyncClient(trust_env=False, timeout=30) as http:
            body: dict[str, Any] = (await http.get(f"http://127.0.0.1:{self.control}/readyz")).json()
            return body

    async def control_process(self) -> int:
        """The process of the control plane: the one that holds the listener and isn't a worker."""
        workers = await self.workers()
        (pid,) = [one for one in children(self.pid) if one not in workers]
        return pid


def children(pid: int) -> list[int]:
    """The living processes that this one started."""
    return [one for one in tree(pid) if one != pid and _field(one, 3) == pid]


def members(session: int) -> list[int]:
    """The processes of a session of the kernel's that live on, also when their parent is gone."""
    pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    return [pid for pid in pids if _field(pid, 5) == session and _field(pid, 2) != "Z"]


def _field(pid: int, place: int) -> int | str:
    """A field of /proc/PID/stat: 2 the state, 3 the parent, 5 the session; -1 where the process is gone."""
    try:
        rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return -1
    value = rest[place - 2]
    return value if place == 2 else int(value)


@asynccontextmanager
async def run_gateway(
    folder: Path,
    upstream: str,
    store: Path,
    *options: str,
    environment: Mapping[str, str] = {},
    deadline_s: float = 120.0,
) -> AsyncIterator[Gateway]:
    """`crosswind serve`; its log goes on in FOLDER/gateway.log."""
    for tried in range(1, _PORT_TRIES + 1):
        data, control, log = free_port(), free_port(), _next_log(folder)
        running = run_server(
            [
                *(*COMMAND, "serve", "--upstream", upstream, "--store", f"sqlite:///{store}"),
                *("--port", str(data), "--control-port", str(control), *options),
            ],
            port=data,
            probe=f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{data}\r\nConnection: close\r\n\r\n".encode(),
            log=log,
            environment={**_QUIET, **environment},
            deadline_s=deadline_s,
        )
        try:
            process = await asyncio.to_thread(running.__enter__)
            break
        except DidNotStart:
            # Another process has taken a port that was free a moment ago.
            if tried == _PORT_TRIES or "another process listens there" not in log.read_text():
                raise
    try:
        yield Gateway(process, data, control, log)
    finally:
        await asyncio.to_thread(running.__exit__, None, None, None)


def _next_log(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"gateway-{len(list(folder.glob('gateway-*.log'))):04d}.log"


def find_tracebacks(folder: Path) -> list[str]:
    """The exceptions of the tracebacks in the gateways' logs under a folder, each with how often it came."""
    counted = Counter(found for log in sorted(folder.rglob("gateway-*.log")) for found in _tracebacks(log))
    return [f"a traceback, {number} times: {what}" for what, number in counted.items()]


def _tracebacks(log: Path) -> Iterator[str]:
    text = log.read_text(errors="replace")
    for found in re.finditer(r"Traceback \(most recent call last\)", text):
        rest = text[found.start() :].replace("\\n", "\n").splitlines()
        ends = (line for line in rest[1:] if re.match(r"^\w[\w.]*(Error|Exception|Exit|Interrupt)\b", line))
        yield re.sub(r"0x[0-9a-f]+", "0x", next(ends, rest[-1])[:300])


async def wait_until_gone(session: int, within_s: float) -> list[int]:
    """Wait for the end of a session's processes; gives those that live on."""
    for _ in range(int(within_s / _POLL_S)):
        if not members(session):
            return []
        await asyncio.sleep(_POLL_S)
    return members(session)


def kill(pid: int, number: int) -> bool:
    """Send a signal; whether the process was there."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True
