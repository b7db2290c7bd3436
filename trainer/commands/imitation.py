"""`crosswind train imitation`: from demonstrations to a policy that plays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from crosswind.injectors.cli.packs_option import packs_folder_option, use_packs
from crosswind.policies.commands.exits import refuse
from crosswind.policies.commands.imports import find_directory
from crosswind.policies.versions.version import VersionError

RANDOM_RATE = 2e-3
"""The learning rate from random weights."""
TRAINED_RATE = 1e-5
"""The same of a policy that has learnt before."""


@click.command(
    short_help="Learn by copying demonstrations.",
    epilog="""\b
Examples:
  crosswind train imitation --demonstrations demonstrations.jsonl --out policies/mine
  crosswind train imitation --policy versions/base --demonstrations demonstrations.jsonl --out versions/warm
""",
)
@click.option(
    "--demonstrations",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    required=True,
    help="JSON lines, as `crosswind rollout demonstrate` writes them.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    help="The policy directory to make; its name is the version.",
)
@click.option(
    "--policy",
    type=click.Path(path_type=Path, file_okay=False),
    help="Begin with it: a version's directory, a shipped name, or any model's directory or hub id.  "
    "[default: a small policy of random weights]",
)
@click.option(
    "--learning-rate",
    type=click.FloatRange(0, min_open=True),
    help=f"At the beginning; it falls linearly.  [default: {RANDOM_RATE:g}; with --policy {TRAINED_RATE:g}]",
)
@click.option("--seed", default=0, show_default=True, help="Of the initial weights and the noisy variants.")
@click.option(
    "--shares",
    default="",
    help="Shares of noisy variants that differ from the defaults: retry=…,give_up=…,user=…,ignore=…,follow=…",
)
@packs_folder_option
@click.option("--steps", type=click.IntRange(1), default=2000, show_default=True, help="The cap.")
@click.option(
    "--stop-loss",
    type=click.FloatRange(0),
    default=0.01,
    show_default=True,
    help="Stop below this, in nats a token.",
)
def imitation(**given: Any) -> None:
    """Learn by copying demonstrations, a few of them under noise: a small policy, or --policy."""
    from crosswind.trainer.imitation.variants import Shares

    try:
        shares = Shares.parse(given["shares"])
    except ValueError as error:
        refuse(f"--shares: {error}")
    use_packs(given["packs"])
    out: Path = given["out"].resolve()
    if out.exists():
        refuse(f"--out: {out} exists already; name another or remove it")
    try:
        from crosswind.trainer.imitation.warmup import DemonstrationsError, Recipe, warm_up
        from crosswind.trainer.learning.model import ModelError
    except ModuleNotFoundError as error:
        refuse(f"{error.name} isn't installed: install crosswind[train]")
    policy = None if given["policy"] is None else find_directory(given["policy"], "--policy: ")
    rate = given["learning_rate"] or (RANDOM_RATE if policy is None else TRAINED_RATE)
    try:
        version, learnt = warm_up(
            given["demonstrations"],
            out,
            policy=policy,
            seed=given["seed"],
            shares=shares,
            recipe=Recipe(steps=given["steps"], stop_loss=given["stop_loss"], learning_rate=rate),
            command=_command(given),
            progress=_tell,
        )
    except DemonstrationsError as error:
        refuse(f"--demonstrations: {error}")
    except (ModelError, VersionError) as error:
        refuse(f"--policy: {error}")
    why = "the loss is low enough" if learnt.reached else "the cap or the last demonstration was reached"
    click.echo(f"{version.version}: {len(learnt.losses)} steps ({why}), in {version.path}")


def _command(given: dict[str, Any]) -> str:
    """The command line that makes the same policy, with files by their names alone."""
    named = {"demonstrations": given["demonstrations"].name, "out": given["out"].name}
    for name in ("policy", "packs"):
        if given[name] is not None:
            named[name] = given[name].name
    options = {name: value for name, value in (given | named).items() if value not in ("", None)}
    parts = (f"--{name.replace('_', '-')} {value}" for name, value in options.items())
    return " ".join(("crosswind train imitation", *parts))


def _tell(step: int, loss: float) -> None:
    if step % 50 == 0:
        click.echo(f"step {step}: loss {loss:.4f} nats a token", err=True)
