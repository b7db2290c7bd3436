"""The options of `crosswind train run` that say where a run's figures go."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crosswind.policies.commands.exits import refuse
from crosswind.trainer.errors import RunRefused

if TYPE_CHECKING:
    from crosswind.trainer.run.progress import Progress

_FILE = click.Path(path_type=Path, dir_okay=False)
_FOLDER = click.Path(path_type=Path, file_okay=False)
_OPTIONS = (
    click.option("--json-progress", is_flag=True, help="JSON lines on standard output."),
    click.option("--watch", is_flag=True, help="Draw the run in place of lines, in a terminal."),
    click.option("--metrics-file", type=_FILE, help="Append each step's figures, as JSON lines."),
    click.option("--tensorboard", type=_FOLDER, help="Write each step's figures for TensorBoard."),
    click.option("--metrics-port", type=click.IntRange(0, 65535), help="Serve the last ones to Prometheus."),
    click.option("--metrics-host", default="127.0.0.1", show_default=True, help="The address of that port."),
)


@dataclass(frozen=True, slots=True)
class Reporting:
    """What the options say, by their names."""

    json_progress: bool
    watch: bool
    metrics_file: Path | None
    tensorboard: Path | None
    metrics_port: int | None
    metrics_host: str


def reporting_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options as one parameter, `reporting`."""

    @functools.wraps(command)
    def call(**given: Any) -> Any:
        named = {name: given.pop(name) for name in Reporting.__dataclass_fields__}
        return command(reporting=Reporting(**named), **given)

    for option in reversed(_OPTIONS):
        call = option(call)
    return call


def make_progress(stack: ExitStack, steps: int, reporting: Reporting) -> Progress:
    """The progress that tells of each step. What can't be written or listened on is refused before anything
    is done.
    """
    # Not at the top: torch and Prometheus take long to import.
    from rich.console import Console

    from crosswind.trainer.run.progress import Progress
    from crosswind.trainer.run.reporters import JsonLines, Prometheus, Reporter, TensorBoard
    from crosswind.trainer.run.watch import Watch

    if reporting.watch and (reporting.json_progress or not sys.stdout.isatty()):
        refuse("--watch: it draws in a terminal; leave it out here (--metrics-file has the figures)")
    reporters: list[Reporter] = []
    try:
        if reporting.metrics_file is not None:
            reporters.append(JsonLines(reporting.metrics_file))
        if reporting.tensorboard is not None:
            reporters.append(TensorBoard(reporting.tensorboard))
        if reporting.metrics_port is not None:
            reporters.append(Prometheus(reporting.metrics_port, reporting.metrics_host))
    except RunRefused as error:
        refuse(str(error))
    watch = Watch(Console(), steps) if reporting.watch else None
    for each in (*reporters, *([watch] if watch is not None else [])):
        stack.callback(each.close)
    return Progress(as_json=reporting.json_progress, reporters=reporters, watch=watch)
