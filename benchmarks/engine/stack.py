"""What is measured: `crosswind policy serve` with real vLLM, and `crosswind serve` in front of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file

from benchmarks.processes import Process, run_server
from crosswind.policies.tiny.directory import write_successor
from crosswind.policies.versions.version import PRETRAINED, PolicyVersion, Registry, read_version
from crosswind.studies.stack import free_port

CROSSWIND = str(Path(sys.executable).parent / "crosswind")
MODEL = "policy"
_STARTS_WITHIN = 400.0


@dataclass(frozen=True, slots=True)
class Server:
    """A server that is measured, and its port; a gateway's control plane has one of its own."""

    process: Process
    port: int
    control: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def versions(folder: Path) -> tuple[PolicyVersion, PolicyVersion]:
    """The package's policy, and one with noise in its weights to swap it for."""
    first = read_version(PRETRAINED / "retail")
    return first, add_moved(Registry(folder), first, "moved", 1)


def add_moved(registry: Registry, parent: PolicyVersion, name: str, step: int) -> PolicyVersion:
    """The parent's weights with noise added: another policy that still mostly speaks its language."""
    generator = torch.Generator().manual_seed(step)
    weights = {
        name: tensor + 0.02 * torch.randn(tensor.shape, generator=generator)
        for name, tensor in load_file(parent.path / "model.safetensors").items()
    }
    return registry.add(
        name, lambda path: write_successor(path, parent.path, weights), parent=parent.version, step=step
    )


@contextmanager
def engine(folder: Path, directory: Path) -> Iterator[Server]:
    """vLLM on a free port, as an operator would serve it."""
    port = free_port()
    log = folder / "vllm.log"
    command = [CROSSWIND, "policy", "serve", str(directory), "--port", str(port), "--log", str(log)]
    with _run(command, port, "/health", folder / "engine.log") as process:
        yield Server(process, port)


@contextmanager
def gateway(folder: Path, upstream: Server, *flags: str) -> Iterator[Server]:
    """The gateway in front of the engine: token ids captured, recorded in full and strictly."""
    port, control = free_port(), free_port()
    store = folder / f"store-{port}.db"
    command = [
        *(CROSSWIND, "serve", "--port", str(port), "--control-port", str(control)),
        *("--upstream", f"{upstream.url}/v1", "--store", f"sqlite:///{store}", "--capture", "on", *flags),
    ]
    with _run(command, port, "/healthz", folder / "gateway.log") as process:
        yield Server(process, port, control)


def _run(command: list[str], port: int, health: str, log: Path) -> AbstractContextManager[Process]:
    probe = f"GET {health} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode()
    quiet = {"OMP_NUM_THREADS": "1", "CROSSWIND_LOG__LEVEL": "warning"}
    return run_server(command, port=port, probe=probe, log=log, environment=quiet, deadline_s=_STARTS_WITHIN)
