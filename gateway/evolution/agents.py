"""An agent under search: its model, served, and a gateway of the run's own in front of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from gateway.demo.processes import Processes, answering, free_ports

START_SECONDS = 120.0
"""How long a server may take until it answers."""


@dataclass(frozen=True, slots=True)
class Served:
    """Where an agent's gateway is controlled, and where it writes."""

    agent: str
    control: str
    store: str


async def serve(processes: Processes, agent: str, role: str, out: Path, config: Path | None) -> Served:
    """Serve the agent: the base URL of an OpenAI-compatible server, or a policy for the embedded engine (one
    that comes with the package, or a directory). Stopped with `processes`."""
    engine_port, port, control_port = free_ports(3)
    upstream, starting = agent, []
    if "://" not in agent:
        upstream = f"http://127.0.0.1:{engine_port}/v1"
        arguments = ("policy", "serve", agent, "--embedded", "--port", str(engine_port))
        engine = await processes.start(f"policy serve {role}", *arguments)
        starting.append(answering(engine, f"http://127.0.0.1:{engine_port}/health", START_SECONDS))
    store = f"sqlite:///{(out / f'{role}.db').resolve()}"
    gateway = await processes.start(
        f"serve {role}",
        *("serve", "--upstream", upstream, "--port", str(port), "--control-port", str(control_port)),
        *("--store", store, "--profile", "off", "--capture", "off"),
        *(("--config", str(config)) if config else ()),
    )
    starting.append(answering(gateway, f"http://127.0.0.1:{port}/healthz", START_SECONDS))
    starting.append(answering(gateway, f"http://127.0.0.1:{control_port}/healthz", START_SECONDS))
    await asyncio.gather(*starting)
    return Served(agent, f"http://127.0.0.1:{control_port}", store)
