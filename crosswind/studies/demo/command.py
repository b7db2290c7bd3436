"""The command `crosswind demo`."""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from crosswind.injectors.cli.packs_option import packs_folder_option, use_packs
from crosswind.simulators.tool_legs.leg import Leg
from crosswind.studies.demo.settings import SIZES, DemoSettings, choose_settings

_DEFAULTS = DemoSettings()
_NEEDED = {"torch": "train", "transformers": "train", "openai": "simulators", "matplotlib": "simulators"}


def _sizes(name: str) -> str:
    """The default of a setting that the engine decides."""
    values = {engine: getattr(choose_settings(engine, {}), name) for engine in SIZES}
    if len(set(values.values())) == 1:
        return f"[default: {values[_DEFAULTS.engine]}]"
    return "[default: " + ", ".join(f"{value} with {engine}" for engine, value in values.items()) + "]"


@click.command(
    short_help="Play the whole loop: serve, train, report.",
    epilog="""\b
Examples:
  crosswind demo
  crosswind demo --steps 20 --seed 1 --out runs/mine
  crosswind demo --leg mcp
""",
)
@click.option(
    "--engine",
    type=click.Choice(sorted(SIZES)),
    default=_DEFAULTS.engine,
    show_default=True,
    help="vllm needs the environment that `make vllm` makes.",
)
@click.option("--seed", type=int, default=_DEFAULTS.seed, show_default=True)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=_DEFAULTS.out,
    show_default=True,
    help="Where the run goes; an earlier run there is replaced.",
)
@click.option(
    "--leg",
    type=click.Choice([one.value for one in Leg if one is not Leg.STDIO]),
    default=_DEFAULTS.leg.value,
    show_default=True,
    help="Where the tools are: with the agent, or behind the gateway, where calls fail before they arrive.",
)
@click.option("--steps", type=click.IntRange(1), help=f"Optimiser steps, at most.  {_sizes('steps')}")
@click.option("--groups-per-step", type=click.IntRange(1), help=_sizes("groups_per_step"))
@click.option("--group-size", type=click.IntRange(2), help=_sizes("group_size"))
@click.option(
    "--tasks",
    "held_out_tasks",
    type=click.IntRange(2),
    help=f"Held-out tasks of each evaluation.  {_sizes('held_out_tasks')}",
)
@click.option(
    "--level",
    "evaluation_level",
    type=click.IntRange(1),
    help=f"Severity level of the evaluations' noise.  {_sizes('evaluation_level')}",
)
@click.option("--concurrency", type=click.IntRange(1), help=f"Episodes at a time.  {_sizes('concurrency')}")
@click.option(
    "--seconds",
    type=click.FloatRange(1),
    help=f"The run's budget; training ends in time for it.  {_sizes('seconds')}",
)
@click.option(
    "--policy",
    default=_DEFAULTS.policy,
    show_default=True,
    help="A shipped policy's name, or any model's directory or hub id.",
)
@packs_folder_option
@click.option(
    "--ports",
    nargs=3,
    type=click.IntRange(0, 65535),
    default=_DEFAULTS.ports,
    show_default=True,
    metavar="ENGINE DATA CONTROL",
    help="Where the servers listen; 0 takes a free port.",
)
def demo(engine: str, out: Path, leg: str, **given: Any) -> None:
    """The whole loop: a small policy, noisy live traffic, training, hot swaps, and what came of it."""
    for module, extra in _NEEDED.items():
        if find_spec(module) is None:
            raise click.ClickException(
                f"{module} is missing: pip install 'crosswind[{extra}]', or run `make demo`"
            )
    import asyncio

    from rich.console import Console

    from crosswind.studies.demo.run import run
    from crosswind.studies.demo.summary import show
    from crosswind.studies.stack import ChildFailed, run_stoppable

    use_packs(given["packs"])  # before an earlier run is removed
    settings = choose_settings(engine, {"out": out, "leg": Leg(leg), **given})
    _replace(out)
    console = Console()
    try:
        result = asyncio.run(run_stoppable(run(settings, console)))
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
