"""`crosswind noise prove`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from crosswind.gateway.whole_file import OutFile
from crosswind.simulators.commands.options import find_environment
from crosswind.simulators.errors import UsageError, require_extra
from crosswind.simulators.tool_legs.leg import Leg
from crosswind.studies.prove.cases import TURNS, cases_alone, cases_as_written, cases_varied
from crosswind.studies.prove.options import (
    check_patterns,
    command_line,
    finish,
    run_settings,
    study_options,
)

if TYPE_CHECKING:
    from crosswind.studies.prove.cases import Catalogue
    from crosswind.studies.prove.episodes import Assignment


@click.command(
    short_help="Show that tasks stay solvable under all noise.",
    epilog="""\b
Examples:
  crosswind noise prove --profiles 'chaos/*' --tasks 4 1 1
  crosswind noise prove --out solvability.md
  crosswind noise prove --leg mcp --tasks 4 1 2
""",
)
@study_options
@click.option(
    "--profiles",
    default=("*",),
    show_default=True,
    multiple=True,
    metavar="GLOB",
    help="Which built-in profiles; may be repeated.",
)
@click.option(
    "--tasks",
    type=(click.IntRange(0), click.IntRange(0), click.IntRange(0)),
    default=(13, 3, 6),
    show_default=True,
    metavar="WRITTEN VARIED ALONE",
    help="Held-out tasks for each profile, each profile's severity and stage, each operator's severity.",
)
@click.option(
    "--leg",
    type=click.Choice([one.value for one in Leg]),
    default=Leg.MODEL.value,
    show_default=True,
    help="Where tools are called: in the agent, or through the gateway, as an MCP server or HTTP API. Over "
    "stdio each episode starts a relay.",
)
@click.option("--out", type=OutFile(), help="Write the tables here, as Markdown.")
def prove(**given: Any) -> None:
    """Show that an oracle solves every task under every noise, and that the noise was there."""
    with require_extra():
        from crosswind.studies.prove.episodes import HeldOutTasks, run
        from crosswind.studies.prove.page import write_page
        from crosswind.studies.prove.proof import Proof

    environment, tasks = find_environment(given["environment"], "all"), given["tasks"]
    if not any(tasks):
        raise UsageError("--tasks: 0 0 0 proves nothing: give one of the three a number")
    leg = Leg(given["leg"])
    if leg is Leg.HTTP and not environment.tools:
        raise UsageError(
            f"--leg: {leg} needs the same tools for all tasks, and {environment.name}'s differ; use mcp"
        )
    held_out = HeldOutTasks(environment, given["seed"])

    def plan(catalogue: Catalogue) -> tuple[Sequence[Assignment], Proof]:
        if any(tasks[:2]):
            check_patterns("profiles", given, catalogue.profiles)
        if tasks[2]:
            check_patterns("operators", given, catalogue.operators)
        cases = (
            cases_as_written(catalogue, given["profiles"]),
            cases_varied(catalogue, given["profiles"]),
            cases_alone(catalogue, given["operators"], environment.repeatable),
        )
        assignments = [
            one for which, each in zip(cases, tasks, strict=True) for one in held_out.assign_next(which, each)
        ]
        return assignments, Proof(catalogue)

    def repeat_idle(proof: Proof) -> Sequence[Assignment]:
        return held_out.assign_next(proof.find_idle_cases(), max(tasks))

    settings = run_settings(given)
    proof, seconds = run(environment, plan, recovers=True, leg=leg, further=repeat_idle, **settings)
    command = command_line("prove", given)
    text = write_page(proof, tasks=tasks, turns=TURNS, seconds=seconds, command=command, leg=leg)
    finish(text, given["out"], [*proof.find_problems()])
