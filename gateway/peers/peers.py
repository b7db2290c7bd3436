"""What one process of several knows of the others: its number, their folder, and the way to them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crosswind.gateway.config.settings import Settings
from crosswind.gateway.errors import ConfigurationError
from crosswind.gateway.peers.channel import Channel, Message

_IN_MEMORY = Path("/dev/shm")
_ANSWER_S = 2.0
_READ_S = 30.0
"""How long the supervisor may take to read the configuration, and workers to take it over."""


@dataclass(slots=True, eq=False)
class Peers:
    """A process's place among several. `number` is 0 for the control plane."""

    number: int
    folder: Path
    """Private to this run: what is shared and needn't outlive it."""
    channel: Channel | None = None
    """To the supervisor."""
    reading: int = 0
    """Which reading of the configuration the process begins with, of those that the supervisor numbers."""
    restarts: int = 0
    workers: list[dict[str, Any]] = field(default_factory=list)
    """Each worker's number, process id and trouble, as the supervisor sees them."""

    def hear(self, message: Message) -> None:
        """The supervisor's word on how the workers are."""
        self.workers = list(message["workers"])
        self.restarts = int(message["restarts"])

    def ready(self) -> int:
        """How many workers are in order."""
        return sum(worker["trouble"] is None for worker in self.workers)

    def troubles(self) -> list[str]:
        """Why not all workers are in order, in a few words each."""
        return [worker["trouble"] for worker in self.workers if worker["trouble"] is not None]

    def upstreams(self) -> dict[str, dict[str, Any]]:
        """How the upstreams' replicas fare: as the worker says to which one fares worst."""
        merged: dict[str, dict[str, Any]] = {}
        for worker in self.workers:
            for name, replicas in worker["upstreams"].items():
                known = merged.setdefault(name, {})
                for base, state in replicas.items():
                    if base not in known or known[base]["up"] > state["up"]:
                        known[base] = state
        return merged

    async def read(self) -> tuple[Settings, int]:
        """The configuration as the supervisor reads it now, and the reading's number. ConfigurationError
        where it can't be used.
        """
        told = await self._ask({"read": True}, _READ_S)
        if told is None:
            raise ConfigurationError("the supervisor did not answer; send it again")
        if "error" in told:
            raise ConfigurationError(str(told["error"]))
        return Settings(**told["settings"]), int(told["reading"])

    async def reload(self) -> None:
        """Have the supervisor keep what it read last, and hand it to all workers."""
        await self._ask({"reload": True}, _READ_S)

    async def _ask(self, message: Message, timeout_s: float = _ANSWER_S) -> Message | None:
        return None if self.channel is None else await self.channel.ask(message, timeout_s)

    async def tell_version(self, said: Message) -> None:
        """Have all workers know what was said of a policy version, and wait until they do."""
        await self._ask({"version": said})

    async def switch_noise(self, enabled: bool) -> None:
        """Have all workers switch noise, and wait until they have, two seconds at most."""
        await self._ask({"noise": enabled})


@contextmanager
def private_folder() -> Iterator[Path]:
    """A folder that only its owner may enter, gone afterwards.

    In memory where the system has such a place: the metrics' files are mapped, and a process that writes to a
    mapped page for which a full disk has no room is killed.
    """
    usable = _IN_MEMORY.is_dir() and os.access(_IN_MEMORY, os.W_OK | os.X_OK)
    with tempfile.TemporaryDirectory(
        prefix="crosswind-", dir=_IN_MEMORY if usable else None, ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder)
