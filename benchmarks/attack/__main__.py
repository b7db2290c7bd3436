"""Attacks on the gateway, bounded and on loopback only: `python -m benchmarks.attack [CAMPAIGN ...]`.

Exit code 1: something that a client was told is lost or doubled, a store is broken, an answer had status 500,
something hung or grew. 3: something that a campaign needs is missing.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import click

from benchmarks.attack import files as disk
from benchmarks.attack import kills as killing
from benchmarks.attack import loop_kills
from benchmarks.attack import soak as soaking
from benchmarks.attack import wire as wires
from benchmarks.attack.faults import NoCompiler
from benchmarks.attack.report import Outcome, machine, table


@dataclass(frozen=True)
class Scale:
    """How much each campaign tries."""

    seconds: float
    kills: int
    turns: int
    seed: int


CAMPAIGNS: dict[str, Callable[[Path, Scale], Awaitable[Outcome]]] = {
    "wire": lambda folder, scale: wires.attack(folder, scale.seconds, scale.seed),
    "files": lambda folder, scale: disk.attack(folder, scale.seconds, scale.seed),
    "loop": lambda folder, scale: loop_kills.attack(folder, max(1, scale.kills // 10), scale.seed),
    "soak": lambda folder, scale: soaking.attack(folder, scale.turns, scale.seed),
    "kills": lambda folder, scale: killing.attack(folder, scale.kills, scale.seed),
}


@click.command()
@click.argument("campaigns", nargs=-1, type=click.Choice(list(CAMPAIGNS)))
@click.option("--seconds", default=120.0, show_default=True, help="Of the campaigns wire and files, each.")
@click.option(
    "--kills",
    default=60,
    show_default=True,
    help="Of the campaign kills; a tenth in the campaign loop.",
)
@click.option("--turns", default=5_000, show_default=True, help="Of the campaign soak.")
@click.option("--seed", default=0, show_default=True, help="Of all draws: moments, mutations, faults.")
@click.option(
    "--folder", type=click.Path(path_type=Path, file_okay=False), help="Keeps stores and logs here."
)
@click.option("--json", "document", type=click.Path(path_type=Path, dir_okay=False), help="The result.")
def main(
    campaigns: tuple[str, ...],
    seconds: float,
    kills: int,
    turns: int,
    seed: int,
    folder: Path | None,
    document: Path | None,
) -> None:
    """Attack the gateway. Without names, all campaigns run."""
    scale = Scale(seconds, kills, turns, seed)
    with tempfile.TemporaryDirectory(prefix="crosswind-attack-", ignore_cleanup_errors=True) as temporary:
        root = (folder or Path(temporary)).resolve()
        outcomes = []
        for name in campaigns or CAMPAIGNS:
            (root / name).mkdir(parents=True)
            try:
                outcomes.append(asyncio.run(_run(name, root / name, scale)))
            except NoCompiler as error:
                click.echo(f"{name}: {error}", err=True)
                sys.exit(3)
            click.echo(table(outcomes[-1:]), err=True)
    click.echo(f"{machine()}; seed {seed}")
    click.echo(table(outcomes))
    if document is not None:
        document.write_text(json.dumps([one.document() for one in outcomes], indent=2))
    sys.exit(0 if all(one.held for one in outcomes) else 1)


async def _run(name: str, folder: Path, scale: Scale) -> Outcome:
    return await CAMPAIGNS[name](folder, scale)


if __name__ == "__main__":
    main()
