"""The connections of one plane: who is let in, how long each may take, and what was refused."""

from __future__ import annotations

import asyncio
import contextlib
import resource
from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from math import inf
from typing import Any, Protocol

import structlog

from crosswind.gateway.config.sections import Limits, Timeouts
from crosswind.gateway.errors import ServiceError
from crosswind.gateway.http.memory_budget import MemoryBudget
from crosswind.gateway.http.request_head import HeadReader, ReadLimits

_log = structlog.get_logger("crosswind.http")

_SWEEP_S = 1.0
_SWEEP_IN_DRAIN_S = 0.05
_LAST_REQUEST_S = 0.2
"""When the server drains, an idle connection stays so long for a request that is on its way,"""
_FIRST_REQUEST_S = 1.0
"""and a new one so long, for its first."""
_MOST_RESERVED = 1024
CUT_S = 2.0
"""How long requests that are cut when the server ends may take to answer: a client may read nothing."""


class Plane(StrEnum):
    DATA = "data"
    CONTROL = "control"


class Refusal(StrEnum):
    """Why a connection or a request was refused: a metric's label, and an error's code."""

    CLIENTS = "too_many_connections"
    ADDRESS = "too_many_connections_of_address"
    HALF_OPEN = "too_many_half_open"
    FILES = "too_few_files"
    MEMORY = "bodies_too_large_together"
    URL = "url_too_long"
    HEADERS = "headers_too_large"
    MALFORMED = "malformed_request"
    VERSION = "http_version_not_supported"
    HEADER_TIME = "header_timeout"
    BODY_TIME = "body_timeout"
    SEND_TIME = "send_timeout"


_SETTINGS = {
    Refusal.CLIENTS: "limits.clients",
    Refusal.ADDRESS: "limits.clients_per_address",
    Refusal.HALF_OPEN: "limits.clients_half_open",
    Refusal.FILES: "the number of open files (ulimit -n)",
    Refusal.MEMORY: "limits.bodies",
    Refusal.URL: "limits.url",
    Refusal.HEADERS: "limits.header, limits.header_lines",
    Refusal.HEADER_TIME: "timeouts.header",
    Refusal.BODY_TIME: "timeouts.body",
    Refusal.SEND_TIME: "timeouts.send",
}
"""What to raise, where anything is."""


class OpenConnection(Protocol):
    """A connection in the table."""

    deadline: float
    """When `expire` is called, by the loop's clock."""
    send_deadline: float
    """When it is dropped, since its client doesn't read."""

    @property
    def serving(self) -> bool:
        """Whether an answer is due."""

    def expire(self) -> None:
        """Close the connection, or refuse the request that is late."""

    def cancel(self) -> None:
        """End the request that is served, and the connection."""

    def abort(self) -> None:
        """Drop the connection with what is unsent."""

    def drain(self, now: float) -> None:
        """Close the connection after the answer that is due."""


class ConnectionTable:
    """Open connections with their deadlines, which one sweep for all checks: a timer for each request would
    cost more than the rest of its bookkeeping.
    """

    def __init__(self, plane: Plane, limits: Limits, timeouts: Timeouts, budget: MemoryBudget) -> None:
        self.plane = plane
        self.budget = budget
        self.error_body: Callable[[bytes, ServiceError], bytes] = lambda _, error: error.body()
        """Writes an error for the client whose request begins so."""
        self.open: set[OpenConnection] = set()
        self.half_open = 0
        """Connections without a complete request so far, and with part of one."""
        self.refused: Counter[Refusal] = Counter()
        self.draining = False
        self._of_address: Counter[str] = Counter()
        self._sweeping: asyncio.Task[None] | None = None
        self._emptied = asyncio.Event()
        self.configure(limits, timeouts)

    def configure(self, limits: Limits, timeouts: Timeouts) -> None:
        """Take other limits; open connections stay."""
        self.limits, self.timeouts = limits, timeouts
        self.heads = HeadReader(ReadLimits(limits.url, limits.header, limits.header_lines))
        self.budget.configure(limits.bodies)
        files = _count_allowed_files()
        reserved = min(_MOST_RESERVED, files // 4)
        # Each client of the data plane needs another file for its upstream. The control plane lives on what
        # is reserved, whatever happens there.
        if self.plane is Plane.CONTROL:
            self._most, self._highest_file = min(limits.clients, reserved // 2), inf
        else:
            self._most, self._highest_file = min(limits.clients, (files - reserved) // 2), files - reserved

    def start(self) -> None:
        self._sweeping = asyncio.get_running_loop().create_task(self._sweep())

    async def stop(self) -> None:
        if self._sweeping is not None:
            self._sweeping.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._sweeping

    def find_refusal(self, address: str, file: int) -> Refusal | None:
        """Why a new connection can't be let in; None if it can."""
        if len(self.open) >= self._most:
            return Refusal.CLIENTS if self._most == self.limits.clients else Refusal.FILES
        if file >= self._highest_file:  # the system gives the lowest number that is free
            return Refusal.FILES
        if self.half_open >= self.limits.clients_half_open:
            return Refusal.HALF_OPEN
        if self._of_address[address] >= self.limits.clients_per_address:
            return Refusal.ADDRESS
        return None

    def add(self, connection: OpenConnection, address: str) -> None:
        self.open.add(connection)
        self._of_address[address] += 1

    def remove(self, connection: OpenConnection, address: str) -> None:
        if connection in self.open:
            self.open.remove(connection)
            if not self.open:
                self._emptied.set()
            self._of_address[address] -= 1
            if not self._of_address[address]:
                del self._of_address[address]

    def count_refused(self, refusal: Refusal) -> None:
        self.refused[refusal] += 1
        _log.warning(
            "clients are refused", name=refusal.value, who=self.plane.value, setting=_SETTINGS.get(refusal)
        )

    async def drain(self) -> None:
        """Let each connection end after the answer that is due; those that wait for a request end soon."""
        self.draining = True
        await self.stop()
        self.start()
        now = asyncio.get_running_loop().time()
        for connection in tuple(self.open):
            connection.drain(now)

    async def wait_until_empty(self) -> None:
        while self.open:
            self._emptied.clear()
            await self._emptied.wait()

    async def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(self._sweep_every_s())
            now = loop.time()
            for connection in [one for one in self.open if one.deadline <= now]:
                connection.expire()
            for connection in [one for one in self.open if one.send_deadline <= now]:
                self.count_refused(Refusal.SEND_TIME)
                connection.abort()
            self.budget.trim()

    def _sweep_every_s(self) -> float:
        times = self.timeouts
        shortest = min(times.header, times.body, times.send, times.keep_alive)
        return _SWEEP_IN_DRAIN_S if self.draining else min(_SWEEP_S, shortest / 2)


def drain_deadline(now: float, *, new: bool) -> float:
    """Until when a connection without a request stays while the server drains."""
    return now + (_FIRST_REQUEST_S if new else _LAST_REQUEST_S)


def refuse_connection(refusal: Refusal) -> ServiceError:
    """The answer to a connection that isn't let in."""
    return ServiceError(
        503,
        "the gateway has as many connections as it takes; try again later",
        kind="server_error",
        code=refusal.value,
        headers=[(b"retry-after", b"1")],
    )


def make_late_error(refusal: Refusal) -> ServiceError:
    """The answer to a request that comes too slowly."""
    part, setting = ("body", "body") if refusal is Refusal.BODY_TIME else ("head", "header")
    return ServiceError(
        408,
        f"the request's {part} came too slowly; send it faster, or raise timeouts.{setting}",
        code=refusal.value,
    )


def peer_address(transport: asyncio.BaseTransport) -> tuple[str, int]:
    """The client's address, and the number of the connection's file."""
    name: Any = transport.get_extra_info("peername")
    connection: Any = transport.get_extra_info("socket")
    address = str(name[0]) if isinstance(name, tuple) and name else ""
    return address, -1 if connection is None else connection.fileno()


def _count_allowed_files() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return (1 << 30) if soft == resource.RLIM_INFINITY else soft
