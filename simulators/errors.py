"""How the commands refuse a bad value: one line on standard error and exit code 2."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import click


class UsageError(click.ClickException):
    """An option can't be used. The message names the option, its value and the fix."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message alone: click would put "Error:" before it."""
        click.echo(self.message, file=file, err=True)


class EnvironmentFailedError(RuntimeError):
    """The environment itself failed: it is gone, too slow, or answers nonsense. The message names the call.
    This says nothing about the agent, so its episode is void."""


@contextmanager
def require_extra() -> Iterator[None]:
    """Wrap imports of the extra's packages: report a missing package as a usage error."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise UsageError(f"{error.name} isn't installed: install crosswind[simulators]") from None
