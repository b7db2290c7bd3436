"""The contract of a kind of engine that `crosswind policy serve` can start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from errno import EADDRNOTAVAIL
from pathlib import Path
from socket import gaierror
from typing import ClassVar, Protocol

from crosswind.policies.deployment.confirmation import TOLERANCE
from crosswind.policies.kinds import find_kinds

ENTRY_POINTS = "crosswind.servers"

KEEP_ALIVE_S = 75
"""How long an idle connection is kept: longer than clients keep theirs (the gateway 15 s), since a request
that meets the end of its connection is lost. Servers' own default is 5.
"""
STARTED_WITHIN_S = 900.0
"""A server that we start loads its model first."""
ATTACHED_WITHIN_S = 120.0
"""A server that is said to run already."""


class ServeError(Exception):
    """The policy can't be served. The message names the setting, its value and the fix.

    `usage` says that the command was wrong, and not that the work failed.
    """

    def __init__(self, message: str, *, usage: bool = True) -> None:
        super().__init__(message)
        self.usage = usage


def listen_error(host: str, port: int, error: OSError) -> ServeError:
    elsewhere = isinstance(error, gaierror) or error.errno == EADDRNOTAVAIL
    fix = "name an address of this machine" if elsewhere else "choose another port"
    return ServeError(f"--host {host} --port {port}: {error.strerror or error}; {fix}")


@dataclass(frozen=True, slots=True)
class ServeRequest:
    """The options of `crosswind policy serve`."""

    directory: Path
    host: str = "127.0.0.1"
    port: int = 8000
    """0: a free one."""
    seed: int = 0
    rows: int = 64
    """Sequences that decode together."""
    attach: tuple[str, ...] = ()
    """Root URLs of servers that run already; none: start one."""
    log: Path | None = None
    """Where the engine's own output goes; None: a temporary file that is named."""
    arguments: tuple[str, ...] = ()
    """For the engine's own command line, as they are."""
    control: str | None = None
    """The control plane of a gateway that is told what may be trained on; None: nobody is."""
    start_within: float | None = None
    """Seconds until a server must answer. None: STARTED_WITHIN_S, or ATTACHED_WITHIN_S for one that runs."""
    tolerance: float = TOLERANCE
    """Largest difference of log-probabilities with which a version is confirmed."""


class PolicyServer(Protocol):
    """A kind of engine. Each is one file of `crosswind.policies.servers`, or of a package that names its
    module under the entry points `crosswind.servers`.
    """

    name: ClassVar[str]

    @classmethod
    def serve(cls, request: ServeRequest, say: Callable[[str], None]) -> None:
        """Serve until interrupted, and say in lines for people what is going on. Raises ServeError."""
        ...


def servers() -> dict[str, type[PolicyServer]]:
    return find_kinds("crosswind.policies.servers", ENTRY_POINTS, "serve")


def reject_unused_options(request: ServeRequest, kind: str) -> None:
    """Raise ServeError for options that this kind of engine has no use for."""
    options = {
        "--attach": request.attach,
        "--log": request.log,
        "--control": request.control,
        "--start-within": request.start_within,
        "--": request.arguments,
    }
    for option, given in options.items():
        if given:
            raise ServeError(f"{option}: the {kind} engine has no use for it; leave it out")
