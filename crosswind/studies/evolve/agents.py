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
from crosswind.studies.demo.processes import Processes, answering, free_ports

START_SECONDS = 120.0
"""How long a server may take until it answers."""
ANSWER_SECONDS = 10.0
"""How long one that runs already may take."""


async def check(flag: str, name: str) -> None:
    """ConfigurationError where no agent of this name, as `Agent` takes it, can be served: one that is needed
    when the search has ended would be missed only then.
    """
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
        raise ConfigurationError(f"{flag} {name}: no policy: {said.decode(errors='replace').strip()}")


@dataclass(frozen=True, slots=True)
class Served:
    """Where an agent's gateway is controlled, and where it writes."""

    control: str
    store: str


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
    _served: Served | None = None

    async def served(self) -> Served:
        """Where it is served. ChildFailed where it can't be."""
        if self._served is None:
            self._served = await self._serve()
            for name, yaml in self.profiles.items():
                await self.put(name, yaml)
        return self._served

    async def put(self, name: str, yaml: str) -> None:
        """Make a profile known to the agent's gateway."""
        async with AsyncClient((await self.served()).control) as control:
            await control.put_profile(name, yaml)

    async def _serve(self) -> Served:
        engine_port, port, control_port = free_ports(3)
        upstream, starting = self.name, []
        if "://" not in self.name:
            upstream = f"http://127.0.0.1:{engine_port}/v1"
            arguments = ("policy", "serve", self.name, "--embedded", "--port", str(engine_port))
            engine = await self.processes.start(f"policy serve {self.role}", *arguments)
            starting.append(answering(engine, f"http://127.0.0.1:{engine_port}/health", START_SECONDS))
        store = f"sqlite:///{(self.out / f'{self.role}.db').resolve()}"
        gateway = await self.processes.start(
            f"serve {self.role}",
            *("serve", "--upstream", upstream, "--port", str(port), "--control-port", str(control_port)),
            *("--store", store, "--profile", "off", "--capture", "off"),
            *(("--config", str(self.config)) if self.config else ()),
        )
        planes = [f"http://127.0.0.1:{each}/healthz" for each in (port, control_port)]
        starting += [answering(gateway, plane, START_SECONDS) for plane in planes]
        await asyncio.gather(*starting)
        return Served(f"http://127.0.0.1:{control_port}", store)
