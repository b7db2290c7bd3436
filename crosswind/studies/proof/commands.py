"""`crosswind noise prove` and `crosswind noise dose`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from crosswind.simulators.errors import UsageError, require_extra
from crosswind.studies.proof.cases import TURNS, alone, as_written, varied

if TYPE_CHECKING:
    from crosswind.studies.proof.catalogue import Catalogue
    from crosswind.studies.proof.play import Assignment, Outcome

F = TypeVar("F", bound=Callable[..., Any])


def _shared(command: F) -> F:
    for option in (
        click.option(
            "--concurrency", type=click.IntRange(1), default=64, show_default=True, help="Episodes at once."
        ),
        click.option(
            "--seed", type=int, default=0, show_default=True, help="Decides tasks, wording and noise."
        ),
        click.option("--environment", default="retail", show_default=True, help="The practice domain."),
        click.option(
            "--store",
            type=click.Path(file_okay=False, path_type=Path),
            help="Leave the gateway's store in this folder.",
        ),
        click.option(
            "--operators",
            default=("*",),
            show_default=True,
            multiple=True,
            metavar="GLOB",
            help="Which operators, alone; may be repeated.",
        ),
    ):
        command = option(command)
    return command


@click.command()
@_shared
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
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="Write the tables here, as Markdown."
)
def prove(**given: Any) -> None:
    """Show that an oracle solves every task under every noise, and that the noise was there."""
    with require_extra():
        from crosswind.studies.proof.play import Tasks
        from crosswind.studies.proof.proof import Proof
        from crosswind.studies.proof.proof_page import page
        from crosswind.studies.proof.run import run

    environment, tasks = _environment(given["environment"]), given["tasks"]
    if not any(tasks):
        raise UsageError("--tasks: 0 0 0 proves nothing: give one of the three a number")
    proofs: list[Proof] = []

    def plan(catalogue: Catalogue) -> tuple[Sequence[Assignment], Callable[[Outcome], None]]:
        if any(tasks[:2]):
            _check("profiles", given, catalogue.profiles)
        if tasks[2]:
            _check("operators", given, catalogue.operators)
        proofs.append(Proof(catalogue))
        held_out = Tasks(environment, given["seed"])
        cases = (
            as_written(catalogue, given["profiles"]),
            varied(catalogue, given["profiles"]),
            alone(catalogue, given["operators"], environment.repeatable),
        )
        todo = [
            one for which, each in zip(cases, tasks, strict=True) for one in held_out.following(which, each)
        ]
        return todo, proofs[0].see

    seconds = run(environment, plan, recovers=True, **_how(given))
    (proof,) = proofs
    text = page(proof, tasks=tasks, turns=TURNS, seconds=seconds, command=_command("prove", given))
    _tell(text, given["out"])
    _end([*proof.problems()])


@click.command()
@_shared
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
        from crosswind.studies.proof.dose import FAILED, FAULTS_PER_CALL, Dose
        from crosswind.studies.proof.dose_page import DISTANCES, FAILURES, coefficient, page
        from crosswind.studies.proof.play import Tasks
        from crosswind.studies.proof.plots import draw
        from crosswind.studies.proof.run import run

    environment = _environment(given["environment"])
    doses: list[Dose] = []

    def plan(catalogue: Catalogue) -> tuple[Sequence[Assignment], Callable[[Outcome], None]]:
        _check("operators", given, catalogue.operators)
        doses.append(Dose(catalogue))
        # A user who withholds leaves an agent without questions no chance in calm either.
        held_out = Tasks(environment, given["seed"], leaving_out=environment.kinds.get("withholding", ()))
        cases = alone(catalogue, given["operators"], environment.repeatable, faults_per_call=FAULTS_PER_CALL)
        return held_out.first(cases, given["tasks"]), doses[0].see

    seconds = run(environment, plan, recovers=False, **_how(given))
    responses = list(doses[0].responses())
    text = page(responses, tasks=given["tasks"], seconds=seconds, command=_command("dose", given))
    out: Path | None = given["out"]
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        for name, failures in ((FAILURES, True), (DISTANCES, False)):
            if drawn := [one for one in responses if (one.unit == FAILED) == failures]:
                draw(drawn, out / name)
    _tell(text, out and out / "dose-response.md")
    _end([f"{one.operator.name}: ρ is {coefficient(one)}" for one in responses if not one.rises])


def _check(option: str, given: dict[str, Any], names: Collection[str]) -> None:
    """Refuse a pattern that matches nothing: what isn't measured would seem to be in order."""
    from crosswind.studies.proof.catalogue import nothing_matches

    if (wrong := nothing_matches(given[option], names)) is not None:
        raise UsageError(f"--{option}: {wrong}")


def _environment(name: str) -> Any:
    from crosswind.simulators.environment import UnknownEnvironmentError, load

    try:
        return load(name)
    except UnknownEnvironmentError as error:
        raise UsageError(f"--{error}") from None


def _how(given: dict[str, Any]) -> dict[str, Any]:
    return {name: given[name] for name in ("seed", "concurrency", "store")}


def _command(name: str, given: dict[str, Any]) -> str:
    """The command line that gives this again."""
    context = click.get_current_context()
    words = ["crosswind noise", name]
    for option in context.command.params:
        value = given[option.name or ""]
        if (
            value is not None
            and context.get_parameter_source(option.name or "") is not click.core.ParameterSource.DEFAULT
        ):
            # An option of several values is repeated where it may be, else has them one after the other.
            values = map(str, value) if isinstance(value, tuple) else (str(value),)
            words += (
                [f"--{option.name} {' '.join(values)}"]
                if option.nargs > 1
                else [f"--{option.name} {shlex.quote(each)}" for each in values]
            )
    return " ".join(words)


def _tell(text: str, out: Path | None) -> None:
    if out is None:
        click.echo(text)
        return
    out.write_text(text, encoding="utf-8")
    click.echo(str(out))


def _end(problems: Sequence[str]) -> None:
    for problem in problems:
        click.echo(problem, err=True)
    sys.exit(1 if problems else 0)
