"""How a command ends early: one line on standard error, and an exit code that says whose fault it is."""

from __future__ import annotations

import sys
from typing import NoReturn

import click


def refuse(message: str) -> NoReturn:
    """Usage or configuration."""
    click.echo(f"crosswind: {message}", err=True)
    sys.exit(2)


def fail(message: str) -> NoReturn:
    """The work failed."""
    click.echo(f"crosswind: {message}", err=True)
    sys.exit(1)
