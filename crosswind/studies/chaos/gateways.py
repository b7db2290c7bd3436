"""The gateway of a run: one of its own, or one that runs already."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from crosswind.gateway.client import GatewayError, authorization
from crosswind.gateway.config.loading import read_document
from crosswind.studies.chaos import guard
from crosswind.studies.chaos.run_folder import STORE
from crosswind.studies.stack import Processes, start_gateway

START_S = 60.0
KEY = "CROSSWIND_UPSTREAM_KEY"
UPSTREAMS = "CROSSWIND_UPSTREAMS"
_HOSTS = {"anthropic.com": "anthropic", "openai.azure.com": "azure"}
PROVIDER_KEYS = (KEY, "OPENAI_API_KEY", "ANTHROPIC_API_KEY")
"""Where the upstream's key is looked for."""


@dataclass(frozen=True, slots=True)
class GatewayChoice:
    """Which gateway a run plays on."""

    upstream: str | None
    control: str | None
    """The control plane of one that runs already; None: one of our own."""
    store: str | None
    """The store of that one."""
    config: Path | None = None
    key_variable: str | None = None
    options: Sequence[str] = ()
    """Further options of `crosswind serve`."""
    dialect: str | None = None
    """What the upstream speaks and how it takes its key; None: by its address."""


@dataclass(frozen=True, slots=True)
class OpenGateway:
    control: str
    store: str


@asynccontextmanager
async def open_gateway(choice: GatewayChoice, folder: Path, token: str) -> AsyncIterator[OpenGateway]:
    """The gateway, for the block. Raises ChildFailed if one of our own doesn't start."""
    if choice.control is not None:
        assert choice.store is not None
        yield OpenGateway(choice.control, choice.store)
        return
    variables, upstream = {guard.VARIABLE: token}, choice.upstream
    if (key := find_key(choice)) is not None:
        variables[KEY] = key
    dialect = choice.dialect or guess_dialect(upstream)
    if upstream is not None and dialect is not None:
        named = {"name": dialect, "base": upstream, "dialect": dialect}
        variables[UPSTREAMS] = json.dumps([{**named, **({"key_env": KEY} if key else {})}])
        upstream = None
    options = [*(["--config", str(choice.config)] if choice.config else []), *choice.options]
    async with Processes(folder / "logs", variables) as processes:
        gateway = await start_gateway(
            processes,
            upstream,
            (folder / STORE).absolute(),
            *("--profile", "off", *options),
            wait_s=START_S,
            replayable=False,
        )
        yield OpenGateway(gateway.control, gateway.store)


def guess_dialect(upstream: str | None) -> str | None:
    """The dialect of a provider that takes keys otherwise than OpenAI does; None: OpenAI's."""
    host = urlsplit(upstream or "").hostname or ""
    return next((name for end, name in _HOSTS.items() if host == end or host.endswith(f".{end}")), None)


def find_key(choice: GatewayChoice) -> str | None:
    """The upstream's key: of the variable that was named, or else of the first that is set. None where the
    configuration has it. Raises ConfigurationError."""
    if choice.key_variable is not None:
        return os.environ.get(choice.key_variable)
    if choice.config is not None and read_document(choice.config).get("upstream_key"):
        return None
    names = PROVIDER_KEYS
    if (choice.dialect or guess_dialect(choice.upstream)) == "anthropic":
        names = (KEY, "ANTHROPIC_API_KEY", "OPENAI_API_KEY")
    return next((value for name in names if (value := os.environ.get(name))), None)


@contextmanager
def watch_over(token: str) -> Iterator[None]:
    """Within the block, a process waits to end all that have the token if this one is killed."""
    child = subprocess.Popen(
        [sys.executable, "-I", "-S", str(guard.__file__), token],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        assert child.stdin is not None
        child.stdin.close()
        child.wait()


async def name_servers(control: str, servers: Mapping[str, str]) -> list[dict[str, Any]]:
    """Name further MCP servers to the gateway; gives all servers of tools that it knows. Raises
    GatewayError."""
    async with httpx.AsyncClient(base_url=control, headers=authorization(None), trust_env=False) as http:
        try:
            for name, url in servers.items():
                given = await http.post("/api/tools", json={"name": name, "kind": "mcp", "url": url})
                if given.is_error:
                    raise GatewayError(f"--mcp {name}={url}: {given.text[:300]}", given.status_code)
            found = await http.get("/api/tools")
            found.raise_for_status()
        except httpx.HTTPError as error:
            if isinstance(error, GatewayError):
                raise
            raise GatewayError(f"the gateway's control plane at {control}: {error}") from error
    return list(found.json()["servers"])


async def check_profile(control: str, name: str) -> None:
    """Raise GatewayError where the gateway has no such profile."""
    async with httpx.AsyncClient(base_url=control, headers=authorization(None), trust_env=False) as http:
        try:
            found = await http.get(f"/api/profiles/{name}")
        except httpx.HTTPError as error:
            raise GatewayError(f"the gateway's control plane at {control}: {error}") from error
    if found.is_error:
        try:
            said = found.json()["error"]["message"]
        except (ValueError, KeyError, TypeError):
            said = found.text[:300]
        raise GatewayError(f"--profile {name}: {said}", found.status_code)
