"""What a training command opens from its flags: locks, the store, the engine, the control plane. Whatever is
opened is closed with the stack; a wrong flag is one line and exit code 2.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING
from urllib.parse import quote

import click

from crosswind.gateway.trajectory.store import Store, StoreError, open_existing, open_store
from crosswind.policies.commands.exits import refuse
from crosswind.policies.deployment.deployment import DeploymentObserver
from crosswind.policies.deployment.gateway_observer import GatewayObserver
from crosswind.policies.engine import Engine, EngineError
from crosswind.policies.publishers.registry import connect

if TYPE_CHECKING:
    from crosswind.gateway.client import Client

_RETRY_AFTER = 0.2
"""Seconds between two attempts to reach a server."""


@dataclass(frozen=True, slots=True)
class StartDeadline:
    """How long to wait for servers that are started in the same moment as the trainer."""

    seconds: float
    """For all of them, from `begun` on."""
    stop: Event
    begun: float = field(default_factory=time.monotonic)

    def wait(self, answers: Callable[[], bool], server: str) -> None:
        """Wait until the server answers, the seconds are over, or `stop` is set."""
        if answers() or self._is_over():
            return
        click.echo(f"waiting up to {self.seconds:g} s for {server}", err=True)
        while not self._is_over() and not self.stop.wait(_RETRY_AFTER) and not answers():
            pass

    def _is_over(self) -> bool:
        return time.monotonic() - self.begun >= self.seconds


def open_trajectory_store(stack: ExitStack, url: str) -> Store:
    try:
        store = open_store(url if "://" in url else f"sqlite:///{url}")
    except StoreError as error:
        refuse(f"--store: {error}")
    stack.callback(store.close)
    return store


@contextmanager
def open_recorded(place: str) -> Iterator[Store]:
    """The store of `--from`, which must be there."""
    try:
        store = open_existing(place)
    except StoreError as error:
        refuse(f"--from: {error}")
    with closing(store):
        yield store


def connect_engine(
    stack: ExitStack, url: str | None, deadline: StartDeadline, timeout_s: float
) -> Engine | None:
    """Connect to the engine once it answers; None without a URL. Each request to it may take `timeout_s`."""
    if url is None:
        return None

    def answers() -> bool:
        try:
            connect(url, timeout=timeout_s).close()
        except EngineError:
            return False
        return True

    if "://" in url:
        deadline.wait(answers, f"the engine at {url}")
    try:
        engine = stack.enter_context(connect(url, timeout=timeout_s))
        health = engine.health()
    except EngineError as error:
        refuse(f"--engine: {error}")
    if health.untrainable is not None:
        refuse(f"--engine: {url}: {health.untrainable}")
    return engine


def connect_control(stack: ExitStack, url: str | None, deadline: StartDeadline) -> Client | None:
    """Connect to the gateway's control plane once it answers; None without a URL."""
    if url is None:
        return None
    # With pydantic, which a command's help needn't wait for.
    from crosswind.gateway.client import Client, GatewayError

    client = stack.enter_context(Client(url))
    if "://" in url:
        deadline.wait(client.healthy, f"the gateway at {url}")
    if not client.healthy():
        refuse(f"--control: no control plane answers at {url}; start `crosswind serve` or correct the URL")
    try:
        client.get_curriculum()
    except GatewayError as error:
        if error.status in (401, 403):
            refuse(f"--control: {error}")
    return client


def make_observers(stack: ExitStack, url: str | None, engine: str | None) -> list[DeploymentObserver]:
    """The gateway as an observer of this engine's deployments; none if either is missing."""
    if url is None or engine is None:
        return []
    observer = GatewayObserver(url, engine)
    stack.callback(observer.close)
    return [observer]


def lock_folder(stack: ExitStack, out: Path) -> None:
    """Create the folder and lock it against a second trainer. The system frees the lock with the process."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        holder = _lock(stack, out / ".lock", out)
    except OSError as error:
        refuse(f"--out: {out} can't be written ({error.strerror}); name a folder that can")
    if holder is not None:
        refuse(f"--out: another trainer is at work in {out} ({holder}); name another folder")


def lock_store(stack: ExitStack, store: Path, run: str, engines: str | None, out: Path) -> None:
    """Lock the run's name and the engine's URLs (separated by commas) against a second trainer on this
    store: two would share the rows of their steps, or publish over each other.
    """
    urls = (one.strip().rstrip("/").removesuffix("/v1") for one in (engines or "").split(","))
    wanted = [
        ("--run", f"run {run!r}", f"train-{quote(run, safe='')}"),
        *(("--engine", f"the engine at {url}", f"engine-{quote(url, safe='')}") for url in urls if url),
    ]
    file = store.resolve()
    for flag, what, name in dict.fromkeys(wanted):
        path = file.with_name(f"{file.name}.{name}.lock")
        try:
            holder = _lock(stack, path, out)
        except OSError as error:
            refuse(f"{flag}: {what} can't be locked against a second trainer: {path}: {error.strerror}")
        if holder is not None:
            refuse(
                f"{flag}: another trainer has {what} on this store ({holder}); end that one, or name another"
            )


def _lock(stack: ExitStack, path: Path, out: Path) -> str | None:
    """Take the lock until the stack closes. Returns a description of the holder if there is one already."""
    lock = stack.enter_context(path.open("a+"))
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        return lock.read().strip() or "it doesn't say which"
    lock.truncate(0)
    lock.write(f"process {os.getpid()}, --out {out.resolve()}\n")
    lock.flush()
    return None
