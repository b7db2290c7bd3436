"""The options of `crosswind train run` about its processes, and this process's place among them."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from crosswind.policies.commands.exits import fail, refuse
from crosswind.trainer.commands.launcher import (
    LAUNCHER,
    LOST,
    MEMORY,
    RENDEZVOUS,
    RESUME,
    launch_within_memory,
    leave_note,
)
from crosswind.trainer.commands.ray_launcher import launch_on_ray
from crosswind.trainer.errors import OutOfMemory, RunFailed, RunRefused, WorkerLost

if TYPE_CHECKING:
    from crosswind.trainer.config.settings import TrainConfig
    from crosswind.trainer.learning.worker_group import WorkerGroup

F = TypeVar("F", bound=Callable[..., Any])

_ARGUMENTS = "crosswind.trainer.arguments"
_LOOK_EVERY_S = 0.5


class RepeatableCommand(click.Command):
    """A command that keeps what it was given, to be started again in other processes."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_ARGUMENTS] = list(args)
        return super().parse_args(ctx, args)


def worker_options(command: F) -> F:
    """Add the options."""
    command = click.option(
        "--launcher",
        type=click.Choice(("processes", "ray")),
        default="processes",
        show_default=True,
        help="What starts the workers: this command, or Ray Train. Under torchrun neither is needed.",
    )(command)
    return click.option(
        "--workers",
        type=click.IntRange(1),
        help="Processes that share each step's work and the weights (FSDP2).  [default: 1]",
    )(command)


@dataclass(frozen=True, slots=True)
class WorkerPlace:
    """Which of how many processes this is, by the variables that torchrun, Ray and our launcher set."""

    rank: int
    size: int

    @classmethod
    def read(cls, workers: int | None) -> WorkerPlace:
        """Ends the command where `--workers` says otherwise."""
        size = int(os.environ.get("WORLD_SIZE", "1"))
        if "RANK" not in os.environ or size == 1:
            return cls(0, 1)
        if workers not in (None, size):
            refuse(
                f"--workers: {workers}, but WORLD_SIZE is {size}, as torchrun sets it; leave --workers out"
            )
        return cls(int(os.environ["RANK"]), size)


def start_workers(count: int, launcher: str, config: TrainConfig) -> NoReturn:
    """Run this command again in so many processes, and end with them."""
    if find_spec("torch") is None:
        refuse("torch isn't installed: install crosswind[train]")
    arguments: Sequence[str] = click.get_current_context().meta[_ARGUMENTS]
    if launcher == "ray":
        sys.exit(launch_on_ray(arguments, count, config))
    command = [sys.executable, "-m", "crosswind.gateway.cli", "train", "run", *arguments]
    sys.exit(launch_within_memory(command, count, config.worker_deadline))


def join_workers(stack: ExitStack, place: WorkerPlace, config: TrainConfig) -> WorkerGroup:
    """Join the other workers until the stack closes. A process ends with what started it."""
    try:  # not at the top: torch is an extra, and takes seconds to import
        from crosswind.trainer.learning.worker_group import join_group
    except ModuleNotFoundError as error:
        refuse(f"{error.name} isn't installed: install crosswind[train]")
    if place.size > 1 and owns_process():
        watch_launcher()
    try:
        rendezvous = os.environ.get(RENDEZVOUS)
        return stack.enter_context(join_group(config.device, config.worker_deadline, rendezvous))
    except WorkerLost as error:
        end_lost(error)


def run_follower(place: WorkerPlace, config: TrainConfig) -> None:
    """Be one of the workers that don't lead: they end when rank 0 does, and not by a signal."""
    if owns_process():
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
    with ExitStack() as stack:
        group = join_workers(stack, place, config)
        from crosswind.trainer.run.start import follow

        try:
            follow(group)
        except WorkerLost as error:
            end_lost(error)
        except OutOfMemory as error:
            end_out_of_memory(error)
        except (RunFailed, RunRefused) as error:
            fail(f"worker {place.rank}: {error}")
    if owns_process():
        os._exit(0)  # Python takes seconds to clear torch away, and nothing is open here.


def owns_process() -> bool:
    """Whether this process is the command's: Ray calls it in a thread of a process of its own."""
    return threading.current_thread() is threading.main_thread()


def end_lost(error: WorkerLost) -> NoReturn:
    """End since another worker did. Our launcher says which; torchrun and Ray do so in their own words."""
    if LAUNCHER in os.environ:
        # At once: what the exchange left behind isn't waited for.
        sys.stdout.flush()
        os._exit(LOST)
    fail(f"{error}; a worker ended or didn't answer: {RESUME}")


def end_out_of_memory(error: OutOfMemory) -> NoReturn:
    """End since a micro-batch doesn't fit. Our launcher has all begin again with smaller ones; torchrun and
    Ray don't.
    """
    if LAUNCHER in os.environ:
        leave_note(str(error), error.places)
        sys.stdout.flush()
        os._exit(MEMORY)
    fail(str(error))


def watch_launcher() -> None:
    """End this process once what started it is gone, whatever it is doing."""
    started_by = int(os.environ.get(LAUNCHER, os.getppid()))

    def watch() -> None:
        while os.getppid() == started_by:
            time.sleep(_LOOK_EVERY_S)
        os._exit(LOST)

    threading.Thread(target=watch, daemon=True, name="watch-launcher").start()
