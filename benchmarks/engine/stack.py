"""What is measured: `crosswind policy serve` with real vLLM, and `crosswind serve` in front of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import torch
from safetensors.torch import load_file

from benchmarks.gateway.processes import cpu_s, free_port, tree
from crosswind.policies.tiny.directory import write_successor
from crosswind.policies.versions.version import PRETRAINED, PolicyVersion, Registry, read_version

CROSSWIND = str(Path(sys.executable).parent / "crosswind")
MODEL = "policy"
_STARTS_WITHIN, _STOPS_WITHIN = 400.0, 60.0


class DidNotStart(Exception):
    """A server that gave no answer in time, or ended; the message names its log."""


@dataclass(frozen=True, slots=True)
class Server:
    """A process group that serves HTTP."""

    root: subprocess.Popen[bytes]
    port: int
    start_s: float
    control: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def cpu_s(self) -> float:
        """CPU seconds, user and system, of all its living processes."""
        return sum(cpu_s(pid) for pid in tree(self.root.pid))


def versions(folder: Path) -> tuple[PolicyVersion, PolicyVersion]:
    """The package's policy, and one with noise in its weights to swap it for."""
    first = read_version(PRETRAINED / "retail")
    generator = torch.Generator().manual_seed(1)
    weights = {
        name: tensor + 0.02 * torch.randn(tensor.shape, generator=generator)
        for name, tensor in load_file(first.path / "model.safetensors").items()
    }
    moved = Registry(folder).add(
        "moved", lambda path: write_successor(path, first.path, weights), parent=first.version, step=1
    )
    return first, moved


@contextmanager
def engine(folder: Path, directory: Path) -> Iterator[Server]:
    """vLLM on a free port, as an operator would serve it."""
    port = free_port()
    log = folder / "vllm.log"
    command = [CROSSWIND, "policy", "serve", str(directory), "--port", str(port), "--log", str(log)]
    with _running(command, port, folder / "engine.log") as server:
        yield server


@contextmanager
def gateway(folder: Path, upstream: Server, *flags: str) -> Iterator[Server]:
    """The gateway in front of the engine: token ids captured, recorded in full and strictly."""
    port, control = free_port(), free_port()
    store = folder / f"store-{port}.db"
    command = [
        *(CROSSWIND, "serve", "--port", str(port), "--control-port", str(control)),
        *("--upstream", f"{upstream.url}/v1", "--store", f"sqlite:///{store}", "--capture", "on", *flags),
    ]
    quiet = {"CROSSWIND_LOG__LEVEL": "warning"}
    with _running(command, port, folder / "gateway.log", quiet) as server:
        yield Server(server.root, port, server.start_s, control)


@contextmanager
def _running(
    command: Sequence[str], port: int, log: Path, environment: Mapping[str, str] | None = None
) -> Iterator[Server]:
    started = time.perf_counter()
    with log.open("wb") as output:
        root = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "OMP_NUM_THREADS": "1", **(environment or {})},
            start_new_session=True,
        )
    try:
        _wait(root, port, log, started + _STARTS_WITHIN)
        yield Server(root, port, time.perf_counter() - started)
    finally:
        root.send_signal(signal.SIGTERM)
        try:
            root.wait(_STOPS_WITHIN)
        except subprocess.TimeoutExpired:
            os.killpg(root.pid, signal.SIGKILL)
            root.wait()


def _wait(root: subprocess.Popen[bytes], port: int, log: Path, deadline: float) -> None:
    while time.perf_counter() < deadline:
        if root.poll() is not None:
            raise DidNotStart(f"it ended with {root.returncode}; its log: {log}")
        try:
            for path in ("/healthz", "/health"):
                if httpx.get(f"http://127.0.0.1:{port}{path}", trust_env=False, timeout=5).status_code == 200:
                    return
        except httpx.HTTPError:
            pass
        time.sleep(0.1)
    raise DidNotStart(f"no answer within {_STARTS_WITHIN:g} s; its log: {log}")
