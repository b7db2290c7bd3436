"""`crosswind rollout`: episodes in numbers. `run` plays groups through the gateway, `demonstrate` writes the oracle's."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from simulators.environment import SPLITS, Environment, UnknownEnvironmentError, load


@click.group()
def rollout() -> None:
    """Play episodes of a practice environment."""


def usage(message: str) -> click.exceptions.Exit:
    """One line on stderr and exit code 2: the field, its value, the mend."""
    click.echo(message, err=True)
    return click.exceptions.Exit(2)


def chosen(name: str, kinds: str) -> Environment:
    """The environment of that name, if it has the set of kinds."""
    try:
        environment = load(name)
    except UnknownEnvironmentError as error:
        raise usage(str(error)) from None
    if kinds not in environment.kinds:
        raise usage(f"--kinds: {name} has no {kinds!r}; use one of {', '.join(environment.kinds)}")
    return environment


@rollout.command()
@click.option("--environment", default="retail", show_default=True, help="The environment's name.")
@click.option("--split", type=click.Choice(SPLITS), default="train", show_default=True)
@click.option("--kinds", default="practice", show_default=True, help="A set of task kinds, or one kind.")
@click.option("--count", type=click.IntRange(1), default=1000, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="The JSONL file to write."
)
def demonstrate(environment: str, split: str, kinds: str, count: int, seed: int, out: Path) -> None:
    """Write clean episodes of the scripted oracle as JSON lines {task_id, kind, tools, messages}."""
    from simulators.demonstrations import OracleFailedError, demonstrations, write

    found = chosen(environment, kinds)
    try:
        written = write(out, demonstrations(found, split, kinds, count, seed))
    except OSError as error:
        raise usage(
            f"--out: can't write {out} ({error.strerror}); name a file in a folder that exists"
        ) from None
    except OracleFailedError as error:
        click.echo(str(error), err=True)
        sys.exit(1)
    click.echo(f"{written} demonstrations in {out}")
