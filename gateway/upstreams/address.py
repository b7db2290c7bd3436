"""The address of a replica, and how to connect to it."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from urllib.parse import urlsplit

from aiohappyeyeballs import start_connection

from crosswind.gateway.config.internal_addresses import is_internal
from crosswind.gateway.upstreams.connection import Connection

_PORTS = {"http": 80, "https": 443}
_NEXT_ADDRESS_S = 0.25
"""Seconds before the next address of a name is tried in parallel (RFC 8305)."""


@dataclass(frozen=True, slots=True)
class Address:
    """The parts of a base URL. `host` is the Host header; `path` is the prefix of every request's path."""

    name: str
    port: int
    tls: bool
    host: bytes
    path: bytes
    guarded: bool = False
    """It is never one of `internal_addresses`, whatever its name is resolved to."""

    @classmethod
    def from_base(cls, base: str, *, guarded: bool = False) -> Address:
        """Parse a base URL that the configuration has validated."""
        parts = urlsplit(base)
        name = parts.hostname or ""
        name = name if name.isascii() else name.encode("idna").decode()
        shown = f"[{name}]" if ":" in name else name
        port = parts.port or _PORTS[parts.scheme]
        if port != _PORTS[parts.scheme]:
            shown = f"{shown}:{port}"
        return cls(name, port, parts.scheme == "https", shown.encode(), parts.path.encode(), guarded)

    async def connect(self, limit: int) -> Connection:
        """Open a connection; `limit`: the largest response head, in bytes. Raises OSError."""
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(self.name, self.port, type=socket.SOCK_STREAM)
        if self.guarded and any(is_internal(str(one[4][0])) for one in found):
            raise OSError(errno.EACCES, "it leads to a link-local or metadata address, which is refused")
        connected = await start_connection(found, happy_eyeballs_delay=_NEXT_ADDRESS_S)
        try:
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _, connection = await loop.create_connection(
                lambda: Connection(limit),
                sock=connected,
                ssl=_tls_context() if self.tls else None,
                server_hostname=self.name if self.tls else None,
            )
        except BaseException:
            connected.close()
            raise
        return connection


def load_certificates(bases: Iterable[str]) -> None:
    """Load the trusted certificates at start-up if any base URL needs them: loading is slow."""
    if any(urlsplit(base).scheme == "https" for base in bases):
        _tls_context()


@cache
def _tls_context() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
