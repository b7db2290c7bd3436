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


def make_server(directory: Path, *, seed: int, limits: BatchLimits) -> uvicorn.Server:
    """A server of the directory's policy, to be run on sockets that listen. Raises VersionError."""
    home = read_version(directory).home
    app = EngineApp(directory, seed=seed, default_tokens=default_tokens(home), limits=limits)
    config = uvicorn.Config(
        app, lifespan="on", log_level="warning", access_log=False, timeout_keep_alive=KEEP_ALIVE_S
    )
    return uvicorn.Server(config)


def serve(
    directory: Path, *, host: str, port: int, seed: int, limits: BatchLimits, ready: Callable[[str], None]
) -> None:
    """Serve until interrupted; `ready` is given the base URL. Raises OSError where the port is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named TCP, or asyncio wouldn't switch Nagle's algorithm off and every small chunk would wait for an ACK.
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        server = make_server(directory, seed=seed, limits=limits)
        listener.listen()  # requests wait here from now on until the server takes them
        name = f"[{host}]" if ":" in host else host
        ready(f"http://{name}:{listener.getsockname()[1]}/v1")
        server.run(sockets=[listener])
