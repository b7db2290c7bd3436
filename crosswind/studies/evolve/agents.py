"""An agent under search: its model, served, and a gateway of the run's own in front of it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from crosswind.gateway.client import AsyncClient
from crosswind.gateway.errors import ConfigurationError
from crosswind.studies.stack import Processes, RunningGateway, start_engine, start_gateway

START_SECONDS = 120.0
"""How long a server may take until it answers."""
ANSWER_SECONDS = 10.0
"""How long one that runs already may take."""


async def check_agent(flag: str, name: str) -> None:
    """Raise ConfigurationError where no agent of this name can be served: the second one is needed only hours
    later."""
    if "://" in name:
        try:
            async with httpx.AsyncClient(timeout=ANSWER_SECONDS, trust_env=False) as http:
                await http.get(name)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ConfigurationError(f"{flag} {name}: no server answers there ({error}); is it up?") from None
        return
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "crosswind.gateway.cli", "policy", "verify", name),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await process.communicate()
    if process.returncode != 0:
        why = said.decode(errors="replace").strip().removeprefix("crosswind: ")
        raise ConfigurationError(f"{flag} {name}: no policy: {why}")


@dataclass(slots=True)
class Agent:
    """An agent by its name: the base URL of an OpenAI-compatible server, or a policy for the embedded engine
    (one that comes with the package, or a directory). It is served from when it is first needed."""

    name: str
    role: str
    processes: Processes
    out: Path
    config: Path | None = None
    profiles: Mapping[str, str] = field(default_factory=dict)
    """Profiles that its gateway knows besides the built-in ones, as YAML by name."""
    _gateway: RunningGateway | None = None

    async def gateway(self) -> RunningGateway:
        """The gateway in front of it, started on first use. ChildFailed where it can't be served."""
        if self._gateway is None:
            self._gateway = await self._serve()
            for name, yaml in self.profiles.items():
                await self.put_profile(name, yaml)
        return self._gateway

    async def put_profile(self, name: str, yaml: str) -> None:
        """Make a profile known to the agent's gateway."""
        async with AsyncClient((await self.gateway()).control) as control:
            await control.put_profile(name, yaml)

    async def _serve(self) -> RunningGateway:
        upstream = self.name
        if "://" not in upstream:
            name = f"policy serve {self.role}"
            engine = await start_engine(
                self.processes, self.name, "--embedded", name=name, wait_s=START_SECONDS
            )
            upstream = f"{engine}/v1"
        return await start_gateway(
            self.processes,
            upstream,
            self.out / f"{self.role}.db",
            *("--profile", "off", "--capture", "off"),
            *(("--config", str(self.config)) if self.config else ()),
            name=f"serve {self.role}",
            wait_s=START_SECONDS,
        )
