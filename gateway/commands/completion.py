"""`crosswind completion`: the script by which a shell completes commands, options and profile names."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from crosswind.gateway.errors import ConfigurationError

SHELLS = ("bash", "zsh", "fish")


@click.command(
    short_help="Print the script that completes commands.",
    epilog="""\b
Examples:
  eval "$(crosswind completion bash)"            # in ~/.bashrc
  eval "$(crosswind completion zsh)"             # in ~/.zshrc
  crosswind completion fish > ~/.config/fish/completions/crosswind.fish
""",
)
@click.argument("shell", type=click.Choice(SHELLS), required=False)
def completion(shell: str | None) -> None:
    """Print the script by which SHELL completes commands, options and profiles' names.

    By default it is the shell of $SHELL.
    """
    name = shell or Path(os.environ.get("SHELL", "")).name
    kind = get_completion_class(name) if name in SHELLS else None
    if kind is None:
        raise ConfigurationError(f"SHELL is {name!r}, which isn't known: name one of {', '.join(SHELLS)}")
    click.echo(kind(click.Command("crosswind"), {}, "crosswind", "_CROSSWIND_COMPLETE").source())
