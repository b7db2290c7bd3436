"""The command `crosswind report`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from crosswind.gateway.trajectory.store_option import open_named, store_option


@click.command(
    short_help="Write an HTML report of a store.",
    epilog="""\b
Examples:
  crosswind report --out report.html
  crosswind report --store backup.db
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
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), default=Path("report.html"), show_default=True
)
def report(url: str, before: Path | None, after: Path | None, comparison: Path | None, out: Path) -> None:
    """Write one self-contained HTML page about a store: its newest sessions with their noise and outcome, one
    noisy session in full, figures of noise and traffic, and training."""
    from crosswind.studies.report.figures import WITHOUT_PLOTS, can_draw
    from crosswind.studies.report.page import Evaluation, render

    if len({bool(before), bool(after), bool(comparison)}) > 1:
        raise click.UsageError("--before, --after and --comparison go together: give all three or none")
    evaluation = (
        Evaluation(_json(before), _json(after), _json(comparison))
        if before and after and comparison
        else None
    )
    with open_named(url) as store:
        text = render(store, evaluation)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, encoding="utf-8", errors="replace")
    click.echo(str(out))
    if not can_draw():
        click.echo(WITHOUT_PLOTS, err=True)


def _json(path: Path) -> Mapping[str, Any]:
    try:
        value: Mapping[str, Any] = json.loads(path.read_text())
    except ValueError as error:
        raise click.UsageError(
            f"{path} is not JSON ({error}): give a file that `crosswind bench` wrote"
        ) from error
    return value
