"""Starting vLLM's server with what Crosswind needs switched on."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from crosswind.policies.server import KEEP_ALIVE_S, ServeError, listen_error
from crosswind.policies.vllm.environment import VllmEnvironment

MODEL_NAME = "policy"
"""What requests call the model, as with the embedded engine."""
SUPPORTED = "0.32."
"""vLLM's versions whose internals the extension was tried with."""

_INSIDE = Path(__file__).parent.parent / "vllm_inside"
_STOPS_WITHIN = 20.0
"""Seconds between SIGTERM and SIGKILL."""
_CPU_CACHE_GIB = "1"
NEUTRAL = {"temperature": 1.0, "top_p": 1.0, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0}
"""Sampling where a request doesn't say. Models come with a generation_config.json that cuts the distribution
down, under which log-probabilities would answer another question than the trainer's.
"""
_LORA_RANK = "16"
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Launch:
    """One server to start. `model` is the directory of a policy version."""

    environment: VllmEnvironment
    model: Path
    host: str
    port: int
    seed: int
    rows: int
    log: Path
    state: Path
    """Where the server leaves word of the version that it serves."""
    arguments: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{name}:{self.port}"

    def command(self) -> list[str]:
        """The server's command line. Later arguments win, so `arguments` can override any of them."""
        # On a CPU bfloat16 gains nothing, and moves log-probabilities by up to 0.07; float32 by 4e-6.
        build = [] if self.environment.build == "cuda" else ["--enforce-eager", "--dtype", "float32"]
        return [
            str(self.environment.python),
            "-m",
            "vllm.entrypoints.openai.api_server",
            *("--model", str(self.model.resolve())),
            *("--served-model-name", MODEL_NAME),
            *("--host", self.host, "--port", str(self.port)),
            *("--seed", str(self.seed)),
            *("--max-num-seqs", str(self.rows)),
            "--enable-auto-tool-choice",
            *("--tool-call-parser", "hermes"),
            "--enable-prompt-tokens-details",
            "--disable-uvicorn-access-log",
            # Log-probabilities of what was sampled from, temperature and all.
            *("--logprobs-mode", "processed_logprobs"),
            *("--override-generation-config", json.dumps(NEUTRAL)),
            *("--enable-lora", "--max-loras", "1", "--max-lora-rank", _LORA_RANK),
            *("--worker-extension-cls", "crosswind_inside.worker.WeightExtension"),
            *("--middleware", "crosswind_inside.policy.PolicyMiddleware"),
            *build,
            *self.arguments,
        ]

    def variables(self, inherited: Mapping[str, str]) -> dict[str, str]:
        defaults = {
            "VLLM_NO_USAGE_STATS": "1",
            "DO_NOT_TRACK": "1",
            "VLLM_HTTP_TIMEOUT_KEEP_ALIVE": str(KEEP_ALIVE_S),
        }
        if self.environment.build == "cpu":
            defaults["VLLM_CPU_KVCACHE_SPACE"] = _CPU_CACHE_GIB
        ours = {
            "PYTHONPATH": str(_INSIDE),
            "CROSSWIND_STATE": str(self.state),
            "CROSSWIND_PARENT": str(os.getpid()),
        }
        return {**defaults, **inherited, **ours}


class ServerProcess:
    """A server's process group."""

    def __init__(self, launch: Launch) -> None:
        """Start it. Raises ServeError where the port is taken."""
        check_port(launch.host, launch.port)
        launch.log.parent.mkdir(parents=True, exist_ok=True)
        # Appended to: what a server said before it died is what is looked for.
        with launch.log.open("ab") as log:
            self._child = subprocess.Popen(
                launch.command(),
                env=launch.variables(os.environ),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.group = self._child.pid

    @property
    def ended(self) -> int | None:
        """Its exit code; None while it runs."""
        return self._child.poll()

    def stop(self) -> None:
        """End it with all its children."""
        self._signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self._child.wait(_STOPS_WITHIN)
        self._signal(signal.SIGKILL)
        self._child.wait()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.group, number)


def describe_memory(group: int) -> str:
    """The proportional set size of a group's processes, in which shared pages count once; 0 where /proc
    doesn't say.
    """
    sizes = [size for pid in list_members(group) if (size := _read_resident(pid)) is not None]
    return f"{sum(sizes) / 2**30:.1f} GiB resident in {len(sizes)} processes"


def list_members(group: int) -> list[int]:
    """The processes of this group now (Linux), by their numbers."""
    if not _PROC.is_dir():
        return []
    found = []
    for pid in (int(path.name) for path in _PROC.iterdir() if path.name.isdigit()):
        try:
            if os.getpgid(pid) == group:
                found.append(pid)
        except (ProcessLookupError, PermissionError):
            continue
    return found


def _read_resident(pid: int) -> int | None:
    try:
        lines = (_PROC / str(pid) / "smaps_rollup").read_text().splitlines()
    except OSError:
        return None
    kibibytes = [int(line.split()[1]) for line in lines if line.startswith("Pss:")]
    return sum(kibibytes) * 1024


def check_port(host: str, port: int) -> None:
    """Raise ServeError where another server listens there: vLLM would say so after a minute."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise listen_error(host, port, error) from None


def free_port(host: str) -> int:
    """A port that is free now. Raises ServeError where the host has none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.create_server((host, 0), family=family) as listener:
            return int(listener.getsockname()[1])
    except OSError as error:
        raise listen_error(host, 0, error) from None


def check_version(version: str, where: str) -> None:
    """Raise ServeError where vLLM's version isn't one that the extension was tried with."""
    if not version.startswith(SUPPORTED):
        raise ServeError(
            f"{where}: vLLM {version} isn't supported: {SUPPORTED}x is; install that (`make vllm`)"
        )
