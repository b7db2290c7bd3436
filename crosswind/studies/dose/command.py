"""`crosswind noise dose`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crosswind.simulators.commands.options import find_environment
from crosswind.simulators.errors import require_extra
from crosswind.studies.prove.cases import cases_alone
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
    short_help="Measure how failures rise with severity.",
    epilog="""\b
Example:
  crosswind noise dose --tasks 24 --out docs
""",
)
@study_options
@click.option(
    "--tasks", type=click.IntRange(2), default=24, show_default=True, help="Held-out tasks per severity."
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write dose-response.md and its plots into this folder.",
)
def dose(**given: Any) -> None:
    """Measure how failures without recovery, or distances, rise with severity."""
    with require_extra():
        from crosswind.studies.dose.page import DISTANCES, FAILURES, draw_plots, show_coefficient, write_page
        from crosswind.studies.dose.response import FAILED, FAULTS_PER_CALL, DoseMeasurement
        from crosswind.studies.prove.episodes import HeldOutTasks, run

    environment = find_environment(given["environment"], "all")

    def plan(catalogue: Catalogue) -> tuple[Sequence[Assignment], DoseMeasurement]:
        check_patterns("operators", given, catalogue.operators)
        # A user who withholds leaves an agent without questions no chance in calm either.
        held_out = HeldOutTasks(
            environment, given["seed"], leaving_out=environment.kinds.get("withholding", ())
        )
        cases = cases_alone(
            catalogue, given["operators"], environment.repeatable, faults_per_call=FAULTS_PER_CALL
        )
        return held_out.assign_first(cases, given["tasks"]), DoseMeasurement(catalogue)

    measured, seconds = run(environment, plan, recovers=False, **run_settings(given))
    responses = list(measured.responses())
    text = write_page(responses, tasks=given["tasks"], seconds=seconds, command=command_line("dose", given))
    out: Path | None = given["out"]
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        for name, failures in ((FAILURES, True), (DISTANCES, False)):
            if drawn := [one for one in responses if (one.unit == FAILED) == failures]:
                draw_plots(drawn, out / name)
    problems = [f"{one.operator.name}: ρ is {show_coefficient(one)}" for one in responses if not one.rises]
    finish(text, out and out / "dose-response.md", problems)
