"""Running the engine under uvicorn."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import orjson
import uvicorn

from crosswind.policies.embedded.app import EngineApp
from crosswind.policies.embedded.batch import BatchLimits
from crosswind.policies.server import KEEP_ALIVE_S
from crosswind.policies.versions.version import read_version

_DEFAULT_TOKENS = 64


def default_tokens(directory: Path) -> int:
    """The completion's length where a request names none: `max_new_tokens` of generation_config.json."""
    path = directory / "generation_config.json"
    settings = orjson.loads(path.read_bytes()) if path.is_file() else {}
    return int(settings.get("max_new_tokens") or _DEFAULT_TOKENS)


class EngineServer(uvicorn.Server):
    """uvicorn's server, which says when it is ready."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self._ready()


def make_server(
    directory: Path, *, seed: int, limits: BatchLimits, ready: Callable[[], None] = lambda: None
) -> EngineServer:
    """A server of the directory's policy, to be run on sockets that listen. Raises VersionError.

    `ready` is called once requests are answered.
    """
    home = read_version(directory).home
    app = EngineApp(directory, seed=seed, default_tokens=default_tokens(home), limits=limits)
    config = uvicorn.Config(
        app, lifespan="on", log_level="warning", access_log=False, timeout_keep_alive=KEEP_ALIVE_S
    )
    return EngineServer(config, ready)


def serve(
    directory: Path, *, host: str, port: int, seed: int, limits: BatchLimits, ready: Callable[[str], None]
) -> None:
    """Serve until interrupted; `ready` is given the base URL. Raises OSError where the port is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named TCP, or asyncio wouldn't switch Nagle's algorithm off and every small chunk would wait for an ACK.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    with listener:
        listener.bind((host, port))
        name = f"[{host}]" if ":" in host else host
        url = f"http://{name}:{listener.getsockname()[1]}/v1"
        server = make_server(directory, seed=seed, limits=limits, ready=lambda: ready(url))
        server.run(sockets=[listener])
