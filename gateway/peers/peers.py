"""A process's link to the other processes of one run: its number, the shared folder and the channel."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crosswind.gateway.config.settings import Settings
from crosswind.gateway.errors import ConfigurationError
from crosswind.gateway.peers.channel import Channel, Message
from crosswind.injectors.identity import digest

_IN_MEMORY = Path("/dev/shm")
_ANSWER_S = 2.0
_MOST_OWNERS = 255
_READ_S = 30.0
"""How long the supervisor may take to read the configuration, and workers to apply it."""


@dataclass(slots=True, eq=False)
class Peers:
    """The other processes of a run, as one of them sees them. `number` is 0 for the control plane."""

    number: int
    folder: Path
    """Shared by the processes of this run and deleted afterwards."""
    channel: Channel | None = None
    """The channel to the supervisor."""
    reading: int = 0
    """The supervisor's number for the configuration that the process starts with."""
    count: int = 0
    """How many workers there are."""
    hand_on: Callable[[int, socket.socket, bytes], bool] | None = None
    """Gives a client's connection to the worker of this number, with what was read of its request; False
    where that can't be."""
    restarts: int = 0
    workers: list[dict[str, Any]] = field(default_factory=list)
    """Each worker's number, process id and trouble, as the supervisor reports them."""

    def owner(self, session_id: str) -> int:
        """The number of the worker that serves a session's tool traffic: one memory has its calls."""
        return int(digest(session_id)[:12], 16) % max(1, min(self.count, _MOST_OWNERS)) + 1

    def hear(self, message: Message) -> None:
        """Apply the supervisor's report on the workers."""
        self.workers = list(message["workers"])
        self.restarts = int(message["restarts"])

    def ready(self) -> int:
        """How many workers are healthy."""
        return sum(worker["trouble"] is None for worker in self.workers)

    def troubles(self) -> list[str]:
        return [worker["trouble"] for worker in self.workers if worker["trouble"] is not None]

    def upstreams(self) -> dict[str, dict[str, Any]]:
        """The states of the upstreams' replicas: for each, the worst that a worker reports."""
        merged: dict[str, dict[str, Any]] = {}
        for worker in self.workers:
            for name, replicas in worker["upstreams"].items():
                known = merged.setdefault(name, {})
                for base, state in replicas.items():
                    if base not in known or known[base]["up"] > state["up"]:
                        known[base] = state
        return merged

    async def read(self) -> tuple[Settings, int]:
        """Have the supervisor read the configuration; return it with its number. Raises ConfigurationError if
        it is unusable.
        """
        answer = await self._ask({"read": True}, _READ_S)
        if answer is None:
            raise ConfigurationError("the supervisor did not answer; send it again")
        if "error" in answer:
            raise ConfigurationError(str(answer["error"]))
        return Settings(**answer["settings"]), int(answer["reading"])

    async def reload(self) -> None:
        """Have the supervisor keep the configuration it read last and send it to all workers."""
        await self._ask({"reload": True}, _READ_S)

    async def _ask(self, message: Message, timeout_s: float = _ANSWER_S) -> Message | None:
        return None if self.channel is None else await self.channel.ask(message, timeout_s)

    async def tell_setting(self, said: Message) -> None:
        """Send a setting, of trust or of a drill, to all workers and wait until they have it."""
        await self._ask({"setting": said})

    async def switch_noise(self, enabled: bool) -> None:
        """Set the kill switch in all workers and wait until they have it, two seconds at most."""
        await self._ask({"noise": enabled})


@contextmanager
def private_folder() -> Iterator[Path]:
    """A temporary folder that only its owner can enter.

    It is in memory if the system has such a file system: the metrics' files are memory-mapped, and a process
    that writes to a mapped page on a full disk is killed.
    """
    usable = _IN_MEMORY.is_dir() and os.access(_IN_MEMORY, os.W_OK | os.X_OK)
    with tempfile.TemporaryDirectory(
        prefix="crosswind-", dir=_IN_MEMORY if usable else None, ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder)
