"""What `crosswind noise prove` and `crosswind noise dose` share: options, their checks, and how they end."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NoReturn

import click

from crosswind.gateway.whole_file import write_whole
from crosswind.simulators.commands.options import apply_options
from crosswind.simulators.errors import UsageError

study_options = apply_options(
    click.option(
        "--operators",
        default=("*",),
        show_default=True,
        multiple=True,
        metavar="GLOB",
        help="Which operators, alone; may be repeated.",
    ),
    click.option(
        "--store",
        type=click.Path(file_okay=False, path_type=Path),
        help="Leave the gateway's store in this folder.",
    ),
    click.option("--environment", default="retail", show_default=True, help="The practice domain."),
    click.option("--seed", type=int, default=0, show_default=True, help="Decides tasks, wording and noise."),
    click.option(
        "--concurrency", type=click.IntRange(1), default=64, show_default=True, help="Episodes at once."
    ),
)


def check_patterns(option: str, given: dict[str, Any], names: Collection[str]) -> None:
    """Refuse a pattern that matches nothing: what isn't measured would seem to be in order."""
    for glob in given[option]:
        if not any(fnmatchcase(name, glob) for name in names):
            near = get_close_matches(glob, names, n=1)
            fix = f"did you mean {near[0]!r}?" if near else "widen it"
            raise UsageError(f"--{option}: {glob!r} matches none; {fix}")


def run_settings(given: dict[str, Any]) -> dict[str, Any]:
    return {name: given[name] for name in ("seed", "concurrency", "store")}


def command_line(name: str, given: dict[str, Any]) -> str:
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


def finish(text: str, out: Path | None, problems: Sequence[str]) -> NoReturn:
    """Write or print the page, and exit: with 1 where there are problems."""
    if out is not None:
        write_whole(out, text)
    click.echo(text if out is None else str(out))
    for problem in problems:
        click.echo(f"crosswind: {problem}", err=True)
    sys.exit(1 if problems else 0)
