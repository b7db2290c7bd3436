"""Running the engine under uvicorn."""

from __future__ import annotations

import socket
from pathlib import Path

import orjson
import uvicorn

from policies.embedded.app import EngineApp
from policies.embedded.batch import Limits

_DEFAULT_TOKENS = 64


def default_tokens(directory: Path) -> int:
    """The completion's length where a request names none: `max_new_tokens` of generation_config.json."""
    path = directory / "generation_config.json"
    settings = orjson.loads(path.read_bytes()) if path.is_file() else {}
    return int(settings.get("max_new_tokens") or _DEFAULT_TOKENS)


def make_server(directory: Path, *, host: str, port: int, seed: int, limits: Limits) -> uvicorn.Server:
    """A server that serves the directory's policy. Raises VersionError where the directory isn't complete."""
    app = EngineApp(directory, seed=seed, default_tokens=default_tokens(directory), limits=limits)
    return uvicorn.Server(
        uvicorn.Config(app, host=host, port=port, lifespan="on", log_level="warning", access_log=False)
    )


def serve(directory: Path, *, host: str, port: int, seed: int, limits: Limits) -> None:
    """Serve until interrupted. Raises OSError where the port is taken."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    with listener:
        listener.bind((host, port))
        server = make_server(directory, host=host, port=port, seed=seed, limits=limits)
        server.run(sockets=[listener])
