"""The command `crosswind report`."""

from __future__ import annotations

import functools
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crosswind.figures.gate import Gate, judge
from crosswind.gateway.counts import count
from crosswind.gateway.trajectory.commands.store_option import open_named, store_option
from crosswind.gateway.whole_file import OutFile, write_whole
from crosswind.studies.drop.outputs import Outputs, gate_options, output_options
from crosswind.studies.label_option import label_option

if TYPE_CHECKING:
    from crosswind.studies.drop.store import StoreDrop


@click.command(
    short_help="Write an HTML report of a store.",
    epilog="""\b
Examples:
  crosswind report --out report.html
  crosswind report --store backup.db --markdown comment.md --max-drop 0.1
  crosswind report --clean release=old --noisy release=new

Exit status with a goal: 0 passed, 3 inconclusive, 4 failed.
""",
)
@store_option
@click.option(
    "--before",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A result of `crosswind bench --json`.",
)
@click.option(
    "--after", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="The same tasks, later."
)
@click.option(
    "--comparison",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A result of `crosswind bench --compare`.",
)
@click.option("--out", type=OutFile(), default=Path("report.html"), show_default=True)
@label_option("--only", "Figures on success: only of the sessions with this label. Repeatable.")
@label_option("--clean", "Sessions that count as clean, by a label. By default as they were assigned.")
@label_option("--noisy", "Sessions that count as noisy, by a label.")
@gate_options
@functools.partial(output_options, leave=("html",))
def report(
    url: str,
    before: Path | None,
    after: Path | None,
    comparison: Path | None,
    out: Path,
    only: Mapping[str, str],
    clean: Mapping[str, str],
    noisy: Mapping[str, str],
    gate: Gate | None,
    outputs: Outputs,
) -> None:
    """Write one self-contained HTML page about a store: success under noise, its newest sessions with their
    noise and outcome, one noisy session in full, figures of noise and traffic, and training. Success under
    noise is printed, too."""
    from crosswind.studies.drop.sections import show_gate
    from crosswind.studies.drop.store import measure_store
    from crosswind.studies.report.figures import WITHOUT_PLOTS, can_draw
    from crosswind.studies.report.page import Evaluation, render

    if len({bool(before), bool(after), bool(comparison)}) > 1:
        raise click.UsageError("--before, --after and --comparison go together: give all three or none")
    evaluation = (
        Evaluation(_json(before), _json(after), _json(comparison))
        if before and after and comparison
        else None
    )
    if bool(clean) != bool(noisy):
        raise click.UsageError("--clean and --noisy go together: give both or neither")
    files = ", ".join(f"--{name}" for name in outputs.files)
    if evaluation and files:
        raise click.UsageError(
            f"{files}: they take figures of the store: leave out --before, --after, --comparison"
        )
    with open_named(url) as store:
        measured = [] if evaluation else measure_store(store, only, clean, noisy)
        drops = [drop for drop in measured if drop.compares]
        if gate is not None and len(drops) != 1:
            nothing = _NOTHING_TO_JUDGE + _tell_void(measured)
            raise click.UsageError(_name_one("--fail-below, --max-drop", drops, nothing))
        shown = drops or measured
        if files and len(shown) != 1:
            raise click.UsageError(_name_one(files, shown, _NOTHING_TO_WRITE))
        result = judge(drops[0].attempts, gate) if gate is not None else None
        text = render(store, evaluation, drops)
    try:
        write_whole(out, text)
    except OSError as error:
        raise click.UsageError(f"--out: {out} can't be written: {error.strerror}") from error
    if not (drops or evaluation):
        click.echo(_NO_DROP + _tell_void(measured), err=True)
    for drop in shown if files else drops:
        sections = show_gate(drop.sections, drop.figures.drop, result)
        click.echo(outputs.write(sections, drop.to_json, drop.attempts, drop.title, url, result))
    click.echo(str(out))
    if not can_draw():
        click.echo(WITHOUT_PLOTS, err=True)
    if result is not None:
        sys.exit(result.exit_status)


_NOTHING_TO_JUDGE = "the store has no clean and noisy sessions with rewards to judge"
_NOTHING_TO_WRITE = "the store has no session to tell of; name another with --store, or leave out --only"
_NO_DROP = (
    "no drop in success to tell: that takes sessions with rewards that count, both clean and noisy "
    "(crosswind chaos plays both; --clean and --noisy name others)"
)


def _tell_void(measured: Sequence[StoreDrop]) -> str:
    """How many sessions with rewards don't count, and why, as the end of a sentence."""
    rewarded = [one for drop in measured for one in drop.attempts if one.success is not None]
    void = Counter(one.void.value for one in rewarded if one.void is not None)
    if not void:
        return ""
    reasons = ", ".join(f"{times:,} {reason}" for reason, times in sorted(void.items()))
    return (
        f"; void, so that they don't count, are {void.total():,} of the "
        f"{count(len(rewarded), 'session')} with rewards ({reasons})"
    )


def _name_one(options: str, drops: Sequence[StoreDrop], nothing: str) -> str:
    if not drops:
        return f"{options}: {nothing}"
    named = ", ".join(drop.purpose or "no purpose" for drop in drops)
    return f"{options}: the store has sessions for {named}: name one with --only purpose=…"


def _json(path: Path) -> Mapping[str, Any]:
    try:
        value: Mapping[str, Any] = json.loads(path.read_text())
    except ValueError as error:
        raise click.UsageError(
            f"{path} is not JSON ({error}): give a file that `crosswind bench` wrote"
        ) from error
    return value
