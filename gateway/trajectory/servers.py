"""Trust in individual servers: one of several went away or serves other weights, while the others go on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from crosswind.gateway.trajectory.record import Setting

SERVER = "server"
"""The kind of these settings: {trusted, version, reason} by the server's root URL."""

_PORTS = {"http": 80, "https": 443}


def server_of(url: str) -> str:
    """Normalise the URL of a server, or of its `/v1`, to its root. Raises ValueError if it is not a URL."""
    parts = urlsplit(url.strip())
    port = parts.port or _PORTS.get(parts.scheme)
    if port is None or not parts.hostname:
        raise ValueError(f"{url!r} is no URL of a server; give it as http://host:port")
    host = "127.0.0.1" if parts.hostname == "localhost" else parts.hostname
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}:{port}{parts.path.rstrip('/').removesuffix('/v1')}"


@dataclass(slots=True)
class Servers:
    """The current trust in the servers, in memory. The settings behind it are in the store."""

    doubted: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """The statement about each untrusted server, by its root URL."""
    _resumed_us: dict[str, int] = field(default_factory=dict)
    """When each formerly doubted server was confirmed."""

    def hear(self, setting: Setting) -> bool:
        """Apply a statement about a server; return whether its trust changed."""
        if not setting.value.get("trusted"):
            new = setting.name not in self.doubted
            self.doubted[setting.name] = setting.value
            return new
        if self.doubted.pop(setting.name, None) is None:
            return False
        self._resumed_us[setting.name] = setting.updated_us
        return True

    def doubts(self, replicas: Iterable[str], began_us: int) -> bool:
        """Whether one of the replicas (base URLs) of a turn is doubted, or was when the turn began."""
        if not self.doubted and not self._resumed_us:
            return False
        names = [server_of(base) for base in replicas]
        return any(name in self.doubted or began_us < self._resumed_us.get(name, 0) for name in names)
