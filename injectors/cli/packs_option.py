"""The option `--packs`: a command that draws phrases names the folder of packs that the gateway has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from crosswind.injectors.packs.load import PackError, use_folder

C = TypeVar("C", bound=Callable[..., Any])


class UnusablePacks(click.ClickException):
    """The packs that a command names can't be read; one line, exit code 2."""

    exit_code = 2


def packs_option(command: C) -> C:
    """Add `--packs`: the packs of this folder go before the shipped ones while the command runs."""
    return click.option(
        "--packs",
        type=click.Path(path_type=Path),
        envvar="CROSSWIND_PACKS",
        show_envvar=True,
        expose_value=False,
        callback=_use,
        help="A folder of phrase packs, like `packs`; each takes the place of the shipped one.",
    )(command)


def _use(context: click.Context, _: click.Parameter, folder: Path | None) -> None:
    if folder is None or context.resilient_parsing:
        return
    try:
        use_folder(folder)
    except PackError as error:
        raise UnusablePacks(str(error)) from error
    context.call_on_close(lambda: use_folder(None))
