"""`crosswind doctor`: the effective configuration, with secrets hidden; and the digest of a key."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from crosswind.gateway.commands.serve import with_options

SHORTEST_KEY = 20
"""Characters. A shorter key could be guessed from its digest."""


@click.command()
@with_options
@click.option(
    "--check", is_flag=True, help="Also ask the upstreams, and read what the store says of training."
)
@click.option(
    "--hash-key", is_flag=True, help="Read a key from standard input and print it as `keys` may hold it."
)
def doctor(config: Path | None, hash_key: bool, check: bool, **flags: Any) -> None:
    """Print the effective configuration, with secrets hidden; with --check, what stands in the way of
    training.
    """
    import yaml

    from crosswind.gateway.config.loading import load

    if hash_key:
        return click.echo(f"key_sha256: {_digest_of_input()}")
    settings = load(config, flags)
    click.echo(
        yaml.safe_dump(settings.model_dump(mode="json"), sort_keys=False, default_flow_style=False), nl=False
    )
    if check:
        from crosswind.gateway.commands.diagnosis import diagnose

        for line in diagnose(settings):
            # As comments, so that the output stays a YAML document.
            click.echo(f"# {line}")


def _digest_of_input() -> str:
    """Read a key from a hidden prompt or from standard input and return its digest."""
    from crosswind.gateway.http.auth import key_digest

    typed: str = click.prompt("Key", hide_input=True) if sys.stdin.isatty() else sys.stdin.readline()
    key = typed.strip()
    if len(key) < SHORTEST_KEY:
        raise click.UsageError(
            f"a key of {len(key)} characters could be guessed from its digest: give {SHORTEST_KEY} or more, "
            "random ones (openssl rand -base64 24)"
        )
    return key_digest(key)
