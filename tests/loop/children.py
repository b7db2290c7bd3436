"""Our commands as child processes on free ports, each with an owner that ends it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx

from tests import ROOT

START_S = 180.0
"""How long a child may take to answer: machines that run several suites at once are slow."""
END_S = 180.0
POLL_S = 0.05

# Nothing of the machine's own configuration may shape a run.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("CROSSWIND_")} | {
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
COMMAND = (sys.executable, "-m", "crosswind.gateway.cli")


class Child:
    """A running command; what it says on either stream goes to a file."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process = process
        self.log = log

    @property
    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def until(self, found: Callable[[], Any]) -> Any:
        """Poll until `found` gives something. The child's early end, or no success in time, fails."""
        deadline = time.monotonic() + START_S
        while not (result := found()):
            assert time.monotonic() < deadline, f"not ready within {START_S} s: {self.said}"
            try:
                self.process.wait(POLL_S)
            except subprocess.TimeoutExpired:
                continue
            raise AssertionError(f"ended early with {self.process.returncode}: {self.said}")
        return result

    def until_healthy(self, url: str) -> None:
        with httpx.Client(trust_env=False, timeout=5) as http:
            self.until(lambda: _answers(http, url))

    def address(self, pattern: str) -> str:
        """The address that it announces after these words."""
        found = re.compile(pattern + r"\s+(http://\S+)")
        match: re.Match[str] = self.until(lambda: found.search(self.said))
        return match[1]

    def succeed(self, timeout_s: float = END_S) -> str:
        """Wait for its end, which must be a good one; gives what it said."""
        code = self.process.wait(timeout_s)
        assert code == 0, f"exit code {code}: {self.said}"
        return self.said

    def stop(self) -> int:
        """End it with SIGTERM, and if need be with SIGKILL; gives its exit code."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(END_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
        return self.process.wait()

    def kill(self) -> None:
        """SIGKILL, and wait."""
        self.process.kill()
        self.process.wait()


def _answers(http: httpx.Client, url: str) -> bool:
    try:
        return http.get(url).status_code == 200
    except httpx.TransportError:
        return False


@dataclass(frozen=True)
class Gateway:
    """A gateway that runs."""

    child: Child
    data: str
    control: str
    store: Path


class Children:
    """Owns child processes: leaving the context ends them all, the newest first."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._owned = ExitStack()
        self._count = 0

    def __enter__(self) -> Children:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._owned.close()

    def start(
        self,
        *arguments: str,
        command: Sequence[str] = COMMAND,
        environment: Mapping[str, str] = {},
        cwd: Path = ROOT,
    ) -> Child:
        """Start `crosswind ARGUMENTS`."""
        self._count += 1
        self._folder.mkdir(parents=True, exist_ok=True)
        log = self._folder / f"{self._count:03d}.log"
        with log.open("wb") as sink:
            process = subprocess.Popen(
                [*command, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                cwd=cwd,
                env={**ENVIRONMENT, **environment},
            )
        child = Child(process, log)
        self._owned.callback(child.stop)
        return child

    def run(self, *arguments: str, timeout_s: float = END_S, **how: Any) -> str:
        """Run a command to its good end; gives what it said."""
        return self.start(*arguments, **how).succeed(timeout_s)

    def engine(self, policy: str = "retail") -> str:
        """`crosswind policy serve`; gives the engine's root URL."""
        child = self.start("policy", "serve", policy, "--embedded", "--port", "0")
        url = child.address("at").removesuffix("/v1")
        child.until_healthy(f"{url}/health")
        return url

    def gateway(self, upstream: str, store: Path, *options: str, **how: Any) -> Gateway:
        """`crosswind serve` in front of an upstream, on free ports."""
        child = self.start(
            "serve",
            *("--upstream", f"{upstream}/v1", "--store", f"sqlite:///{store}"),
            *("--port", "0", "--control-port", "0"),
            *options,
            **how,
        )
        data, control = child.address("data plane").removesuffix("/v1"), child.address("control plane")
        child.until_healthy(f"{data}/healthz")
        return Gateway(child, data, control, store)


@contextmanager
def owner(folder: Path) -> Iterator[Children]:
    """The owner of a test's, or a module's, children."""
    with Children(folder) as children:
        yield children


def marked(mark: str) -> dict[int, str]:
    """The command lines of all processes that run with this text in their environment, by process id:
    children inherit it, and keep it when their parent is gone."""
    found = {}
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            with suppress(OSError):
                if mark.encode() in (process / "environ").read_bytes():
                    command = (process / "cmdline").read_bytes().replace(b"\0", b" ")
                    found[int(process.name)] = command.decode()
    return found
