"""What a training command opens from its flags, and closes again; a wrong flag is one line and exit code
2.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

import click

if TYPE_CHECKING:
    from crosswind.gateway.trajectory.store import Store
    from crosswind.policies.deployment.deployment import DeploymentObserver
    from crosswind.policies.engine import Engine
    from crosswind.trainer.curriculum.driver import CurriculumSink

_ASK_AGAIN = 0.2
"""Seconds between two questions to a server that doesn't answer yet."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long servers are waited for that are started in the same moment as their trainer."""

    seconds: float
    """For all of them, from `begun` on."""
    stop: Event
    begun: float = field(default_factory=time.monotonic)

    def wait(self, answers: Callable[[], bool], whom: str) -> None:
        """Until `whom` answers, the seconds are over, or `stop` is set."""
        if answers() or self._over():
            return
        click.echo(f"waiting up to {self.seconds:g} s for {whom}", err=True)
        while not self._over() and not self.stop.wait(_ASK_AGAIN) and not answers():
            pass

    def _over(self) -> bool:
        return time.monotonic() - self.begun >= self.seconds


def store(stack: ExitStack, url: str) -> Store:
    """The trajectory store, closed with the stack."""
    from crosswind.gateway.trajectory.store import StoreError, open_store

    try:
        store = open_store(url)
    except StoreError as error:
        refuse(f"--store: {error}")
    stack.callback(store.close)
    return store


def engine(stack: ExitStack, url: str | None, patience: Patience) -> Engine | None:
    """The engine, seen to answer; None without a URL."""
    if url is None:
        return None
    from crosswind.policies.engine import EngineError
    from crosswind.policies.publishers.registry import connect

    def answers() -> bool:
        try:
            connect(url).close()
        except EngineError:
            return False
        return True

    if "://" in url:
        patience.wait(answers, f"the engine at {url}")
    try:
        engine = stack.enter_context(connect(url))
        health = engine.health()
    except EngineError as error:
        refuse(f"--engine: {error}")
    if health.untrainable is not None:
        refuse(f"--engine: {url}: {health.untrainable}")
    return engine


def control(stack: ExitStack, url: str | None, patience: Patience) -> CurriculumSink | None:
    """The gateway's control plane, seen to answer; None without a URL."""
    if url is None:
        return None
    from crosswind.gateway.client import Client

    client = stack.enter_context(Client(url))
    if "://" in url:
        patience.wait(client.healthy, f"the gateway at {url}")
    if not client.healthy():
        refuse(f"--control: no control plane answers at {url}; start `crosswind serve` or mend the URL")
    return client


def observers(stack: ExitStack, url: str | None, engine: str | None) -> list[DeploymentObserver]:
    """The gateway, to be told which versions this engine serves rightly; nobody where either is missing."""
    if url is None or engine is None:
        return []
    from crosswind.policies.deployment.gateway_observer import GatewayObserver

    observer = GatewayObserver(url, engine)
    stack.callback(observer.close)
    return [observer]


def stop_on_signals() -> Event:
    """An event that the first SIGTERM or SIGINT sets; the second one ends the process as usual."""
    stop = Event()

    def note(number: int, frame: FrameType | None) -> None:
        stop.set()
        signal.signal(number, signal.SIG_DFL)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, note)
    return stop


def refuse(message: str) -> NoReturn:
    """One line on standard error, exit code 2: usage or configuration."""
    click.echo(message, err=True)
    raise SystemExit(2)
