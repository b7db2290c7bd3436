"""The option `--packs`: a command that draws phrases names the folder of packs that the gateway has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

C = TypeVar("C", bound=Callable[..., Any])

VARIABLE = "CROSSWIND_PACKS"
"""Environment variable: the same."""


class UnusablePacks(click.ClickException):
    """The packs that a command names can't be read; one line, exit code 2."""

    exit_code = 2


def packs_option(command: C) -> C:
    """Add `--packs`: the packs of this folder go before the shipped ones while the command runs."""
    return _make_option(expose_value=False, callback=_use)(command)


def packs_folder_option(command: C) -> C:
    """Add `--packs` to a command that hands the folder on, or reads it later."""
    return _make_option()(command)


def use_packs(folder: Path | None) -> None:
    """Let the packs of this folder go before the shipped ones while the current command runs. Raises
    UnusablePacks."""
    # Here: some commands that have the option start before anything is imported.
    from crosswind.injectors.packs.load import PackError, use_folder

    try:
        use_folder(folder)
    except PackError as error:
        raise UnusablePacks(str(error)) from error
    click.get_current_context().call_on_close(lambda: use_folder(None))


def _make_option(**settings: Any) -> Callable[[C], C]:
    return click.option(
        "--packs",
        type=click.Path(path_type=Path),
        envvar=VARIABLE,
        show_envvar=True,
        help="A folder of phrase packs, like `packs`; each takes the place of the shipped one.",
        **settings,
    )


def _use(context: click.Context, _: click.Parameter, folder: Path | None) -> None:
    if folder is not None and not context.resilient_parsing:
        use_packs(folder)
