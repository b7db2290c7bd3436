"""Options that the commands share, and how they refuse a bad value: one line on stderr, exit code 2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from crosswind.simulators.environment import SPLITS, Environment, UnknownEnvironmentError, load
from crosswind.simulators.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])


def find_environment(name: str, kinds: str) -> Environment:
    """The environment of that name, if it has the set of kinds."""
    try:
        environment = load(name)
    except UnknownEnvironmentError as error:
        raise UsageError(f"--{error}") from None
    if kinds not in environment.kinds:
        raise UsageError(f"--kinds: {name} has no {kinds!r}; use one of {', '.join(environment.kinds)}")
    return environment


def _all(*options: Callable[[F], F]) -> Callable[[F], F]:
    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def task_options(split: str) -> Callable[[F], F]:
    """Which tasks: environment, split, kinds and seed."""
    return _all(
        click.option("--environment", default="retail", show_default=True, help="The environment's name."),
        click.option("--split", type=click.Choice(SPLITS), default=split, show_default=True),
        click.option(
            "--kinds", default="practice", show_default=True, help="A set of task kinds, or one kind."
        ),
        click.option(
            "--seed", type=int, default=0, show_default=True, help="Decides tasks, wording and sampling."
        ),
    )


def control_options(command: F) -> F:
    """Where the gateway's control plane is, and how much is asked of it at once."""
    return _all(
        click.option(
            "--control", default="http://127.0.0.1:8081", show_default=True, help="The control plane's URL."
        ),
        click.option(
            "--concurrency", type=click.IntRange(1), default=96, show_default=True, help="Episodes at once."
        ),
    )(command)


def agent_options(command: F) -> F:
    """How the agent samples."""
    return _all(
        click.option("--model", default="policy", show_default=True, help="The model's name in requests."),
        click.option("--temperature", type=click.FloatRange(0.0, 2.0), default=1.0, show_default=True),
        click.option(
            "--max-tokens", type=click.IntRange(1), default=32, show_default=True, help="In one answer."
        ),
        click.option(
            "--max-turns", type=click.IntRange(1), default=10, show_default=True, help="In one episode."
        ),
        click.option("--stream", is_flag=True, help="Ask for streamed answers."),
        click.option(
            "--timeout", type=float, default=120.0, show_default=True, help="Seconds for one request."
        ),
        click.option("--user-model", help="A model plays the users: its name in requests to the gateway."),
        click.option("--user-profile", help="Noise profile of the users' own sessions."),
        click.option("--json-progress", is_flag=True, help="Progress as JSON lines on stdout."),
    )(command)
