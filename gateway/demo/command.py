"""The command `crosswind demo`."""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import click

from gateway.demo.settings import DemoSettings

_DEFAULTS = DemoSettings()
_NEEDED = {"torch": "train", "transformers": "train", "openai": "simulators", "matplotlib": "simulators"}


@click.command()
@click.option("--seed", default=_DEFAULTS.seed, show_default=True)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=_DEFAULTS.out,
    show_default=True,
    help="Where the run goes; an earlier run there is replaced.",
)
@click.option(
    "--steps",
    type=click.IntRange(1),
    default=_DEFAULTS.steps,
    show_default=True,
    help="Optimiser steps, at most.",
)
@click.option(
    "--groups-per-step", type=click.IntRange(1), default=_DEFAULTS.groups_per_step, show_default=True
)
@click.option("--group-size", type=click.IntRange(2), default=_DEFAULTS.group_size, show_default=True)
@click.option(
    "--tasks",
    type=click.IntRange(2),
    default=_DEFAULTS.held_out_tasks,
    show_default=True,
    help="Held-out tasks of each evaluation.",
)
@click.option(
    "--level",
    type=click.IntRange(1),
    default=_DEFAULTS.evaluation_level,
    show_default=True,
    help="Severity level of the evaluations' noise.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(1),
    default=_DEFAULTS.seconds,
    show_default=True,
    help="The run's budget; training ends in time for it.",
)
@click.option(
    "--policy",
    default=_DEFAULTS.policy,
    show_default=True,
    help="A policy that comes with the package, or a policy directory.",
)
@click.option(
    "--ports",
    nargs=3,
    type=click.IntRange(0, 65535),
    default=_DEFAULTS.ports,
    show_default=True,
    metavar="ENGINE DATA CONTROL",
    help="Where the servers listen; 0 takes a free port.",
)
def demo(
    seed: int,
    out: Path,
    steps: int,
    groups_per_step: int,
    group_size: int,
    tasks: int,
    level: int,
    seconds: float,
    policy: str,
    ports: tuple[int, int, int],
) -> None:
    """The whole loop: a small policy, noisy live traffic, training, hot swaps, and what came of it."""
    for module, extra in _NEEDED.items():
        if find_spec(module) is None:
            raise click.ClickException(
                f"{module} is missing: pip install 'crosswind[{extra}]', or run `make demo`"
            )
    import asyncio

    from rich.console import Console

    from gateway.demo.processes import ChildFailed, stoppable
    from gateway.demo.run import run
    from gateway.demo.summary import show

    settings = DemoSettings(
        seed=seed,
        out=out,
        steps=steps,
        groups_per_step=groups_per_step,
        group_size=group_size,
        held_out_tasks=tasks,
        evaluation_level=level,
        seconds=seconds,
        policy=policy,
        ports=ports,
    )
    _replace(out)
    console = Console()
    try:
        result = asyncio.run(stoppable(run(settings, console)))
    except ChildFailed as error:
        raise click.ClickException(str(error)) from error
    except (KeyboardInterrupt, asyncio.CancelledError):
        console.print("stopped; what was recorded is in", str(settings.store))
        sys.exit(1)
    show(settings, result, console)


def _replace(out: Path) -> None:
    """Remove an earlier run. A folder that no run made is left alone."""
    if not out.exists():
        out.mkdir(parents=True)
        return
    if any(out.iterdir()) and not (out / "logs").is_dir():
        raise click.ClickException(f"--out {out} holds something else than a demo's run: name another folder")
    shutil.rmtree(out)
    out.mkdir(parents=True)
