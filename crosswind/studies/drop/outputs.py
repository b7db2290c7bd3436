"""The options of commands that show figures: the files that they write, and the gate."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from crosswind.figures.attempts import Attempt
from crosswind.figures.gate import ERROR_RATE, Gate, GateResult
from crosswind.gateway.whole_file import OutFile, write_whole
from crosswind.studies.drop.junit import write_junit
from crosswind.studies.drop.page import write_page
from crosswind.studies.drop.sections import Section
from crosswind.studies.drop.text import write_csv, write_markdown, write_text

C = TypeVar("C", bound=Callable[..., Any])
_FORMATS = {
    "json": "JSON",
    "csv": "CSV",
    "markdown": "Markdown, for a pull request's comment",
    "junit": "JUnit XML",
    "html": "one self-contained HTML page",
}


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where figures go besides the terminal, by format."""

    files: Mapping[str, Path]

    def write(
        self,
        sections: Sequence[Section],
        figures: Callable[[], Mapping[str, Any]],
        attempts: Sequence[Attempt],
        title: str,
        store: str,
        result: GateResult | None = None,
    ) -> str:
        """Write the files. Returns the text for the terminal.

        `figures` gives them for a JSON file; `store` is where the attempts' sessions are.
        """
        goals = [] if result is None else [goal.text for goal in result.goals]
        gate = [Section("Gate", lines=tuple(goals))] if goals else []
        makers: dict[str, Callable[[], str]] = {
            "json": lambda: _json(figures(), result),
            "csv": lambda: write_csv(sections),
            "markdown": lambda: write_markdown([*gate, *sections], title),
            "junit": lambda: write_junit(attempts, store, result),
            "html": lambda: write_page(sections, title, goals),
        }
        for name, path in self.files.items():
            try:
                write_whole(path, makers[name]())
            except OSError as error:
                raise click.UsageError(f"--{name}: {path} can't be written: {error.strerror}") from error
        return write_text([*sections, *gate])


def _json(figures: Mapping[str, Any], result: GateResult | None) -> str:
    import msgspec

    gate = None if result is None else {**msgspec.to_builtins(result), "exit_status": result.exit_status}
    return json.dumps({**figures, "gate": gate}, indent=1, ensure_ascii=False) + "\n"


def output_options(command: C, *, leave: Sequence[str] = ()) -> C:
    """Add an option for each format, as the parameter `outputs`."""
    formats = {name: what for name, what in _FORMATS.items() if name not in leave}

    @functools.wraps(command)
    def call(**given: Any) -> Any:
        files = {name: given.pop(f"out_{name}") for name in formats}
        chosen = Outputs({name: path for name, path in files.items() if path is not None})
        return command(outputs=chosen, **given)

    for name, what in reversed(formats.items()):
        call = click.option(
            f"--{name}", f"out_{name}", type=OutFile(), metavar="FILE", help=f"Write {what}."
        )(call)
    return cast(C, call)


def gate_options(command: C) -> C:
    """Add `--fail-below`, `--max-drop` and `--error-rate`, as the parameter `gate`: None without a goal."""

    @functools.wraps(command)
    def call(*, fail_below: float | None, max_drop: float | None, error_rate: float, **given: Any) -> Any:
        if fail_below is None and max_drop is None:
            return command(gate=None, **given)
        try:
            gate = Gate(fail_below, max_drop, error_rate)
        except ValueError as error:
            name, _, rest = str(error).partition(": ")
            raise click.UsageError(f"--{name.replace('_', '-')}: {rest}") from error
        return command(gate=gate, **given)

    call = click.option(
        "--error-rate",
        type=float,
        default=ERROR_RATE,
        show_default=True,
        help="How often the gate may err, at most, in either direction.",
    )(call)
    call = click.option(
        "--max-drop",
        type=float,
        metavar="SHARE",
        help="Exit with 4 if success drops by more, 3 if that can't be told yet. 0.1: ten points.",
    )(call)
    call = click.option(
        "--fail-below",
        type=float,
        metavar="SHARE",
        help="Exit with 4 if success under noise is less, 3 if that can't be told yet.",
    )(call)
    return cast(C, call)
