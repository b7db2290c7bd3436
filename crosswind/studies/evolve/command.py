"""The command `crosswind noise evolve`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from crosswind.injectors.cli.packs_option import packs_folder_option


@click.command(
    short_help="Search for the noise that hurts an agent most.",
    epilog="""\b
Examples:
  crosswind noise evolve --budget 40 --out runs/evolve
  crosswind noise evolve --reference http://127.0.0.1:8000/v1 -- --max-turns 8
""",
)
@click.option(
    "--reference",
    default="retail",
    show_default=True,
    help="The agent that is to fail: a policy for the embedded engine, or a server's base URL.",
)
@click.option("--second", help="An agent that the search never meets, on which the result is measured.")
@click.option(
    "--against",
    default="agentnoisebench/all",
    show_default=True,
    help="The profile whose dose is the result's, and which it is held against.",
)
@click.option(
    "--operators",
    multiple=True,
    default=("user.*", "tool.*", "state.*"),
    show_default=True,
    help="Names or globs of operators to choose from; may be given several times.",
)
@click.option(
    "--budget", type=click.IntRange(1), default=120, show_default=True, help="Candidates to evaluate."
)
@click.option("--tasks", type=click.IntRange(2), default=64, show_default=True, help="Of one evaluation.")
@click.option("--held-out", type=click.IntRange(2), default=128, show_default=True, help="Held-out tasks.")
@click.option(
    "--samples", type=click.IntRange(1), default=1, show_default=True, help="Episodes per held-out task."
)
@click.option(
    "--seeds",
    type=click.IntRange(1),
    default=4,
    show_default=True,
    help="Sets of held-out tasks and noise on which the second agent is measured.",
)
@click.option(
    "--phrases",
    type=click.FloatRange(0, 1),
    default=0.4,
    show_default=True,
    help="The share of a candidate's texts that a list of five phrases may find.",
)
@click.option(
    "--regression",
    type=click.FloatRange(0, 1),
    default=0.6,
    show_default=True,
    help="The share that a regression on words and pairs of words may find.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--environment", default="retail", show_default=True, help="Where the tasks come from.")
@click.option("--name", default="evolved", show_default=True, help="The frozen profile's name.")
@click.option("--version", type=click.IntRange(1), default=1, show_default=True, help="And its version.")
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="A YAML file for the gateways that are started; with its noise_model, prompts are searched too.",
)
@packs_folder_option
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("runs/evolve"),
    show_default=True,
    help="Where the run goes. The same options and folder go on with a run that was stopped.",
)
@click.argument("bench", nargs=-1, metavar="[-- OPTIONS OF `crosswind bench`]")
def evolve(**given: Any) -> None:
    """Search for the noise that hurts an agent most at a given dose, and freeze it as a profile.

    AgentNoiseBench, section 2.2.2. The dose is that of the profile `--against`, in sessions exposed and in
    injections; the guard works as it does under any profile. Noise that detectors tell from the conversations
    is refused. What is found is measured on held-out tasks, beside that profile, and written to
    OUT/profile.yaml with its lineage.
    """
    import asyncio

    from crosswind.studies.evolve.run import evolve as run
    from crosswind.studies.evolve.settings import SearchSettings
    from crosswind.studies.stack import ChildFailed, run_stoppable

    settings = SearchSettings(**given)
    try:
        asyncio.run(run_stoppable(run(settings, click.echo)))
    except ChildFailed as error:
        raise click.ClickException(str(error)) from error
    except (KeyboardInterrupt, asyncio.CancelledError):
        click.echo(f"stopped; the same command goes on from {settings.out}", err=True)
        sys.exit(1)
