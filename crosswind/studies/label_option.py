"""Options that select sessions by their labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

C = TypeVar("C", bound=Callable[..., Any])


def label_option(name: str, help: str) -> Callable[[C], C]:
    """An option LABEL=VALUE that may be given several times, as a mapping."""
    return click.option(name, multiple=True, metavar="LABEL=VALUE", callback=_read, help=help)


def _read(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    labels = {}
    for one in given:
        label, separator, value = one.partition("=")
        if not label or not separator:
            raise click.BadParameter(f"{one!r} isn't LABEL=VALUE, such as run=nightly", context, parameter)
        labels[label] = value
    return labels
