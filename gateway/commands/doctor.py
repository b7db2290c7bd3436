"""`crosswind doctor`: whether the gateway could serve as it is configured; and the digest of a key."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from crosswind.gateway.commands.findings import Finding, Mark, format_finding
from crosswind.gateway.commands.serve import with_options
from crosswind.gateway.errors import ConfigurationError

SHORTEST_KEY = 20
"""Characters. A shorter key could be guessed from its digest."""


@click.command(
    short_help="Check the configuration, the store and the upstreams.",
    epilog="""\b
Examples:
  crosswind doctor --config crosswind.yaml
  crosswind doctor --upstream http://127.0.0.1:8000/v1 --check
  openssl rand -base64 24 | crosswind doctor --hash-key
""",
)
@with_options
@click.option(
    "--check", is_flag=True, help="Also ask the upstreams, and read what the store says of training."
)
@click.option(
    "--hash-key", is_flag=True, help="Read a key from standard input and print it as `keys` may hold it."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def doctor(config: Path | None, hash_key: bool, check: bool, as_json: bool, **flags: Any) -> None:
    """Check whether `crosswind serve` could serve with these options, and print a line for each finding.
    Without --check no upstream is asked.

    ✓ is good, ! is to be known, ✗ has to be fixed. The exit code is 1 if there is any ✗. The configuration
    itself is printed by `crosswind config show`.
    """
    if hash_key:
        return click.echo(f"key_sha256: {_digest_of_input()}")
    found: list[Finding] = []
    for finding in _examine(config, flags, check=check):
        found.append(finding)
        if not as_json:
            click.echo(format_finding(finding))
    bad = any(finding.mark is Mark.BAD for finding in found)
    if as_json:
        click.echo(json.dumps({"good": not bad, "findings": [asdict(one) for one in found]}))
    sys.exit(1 if bad else 0)


def _examine(config: Path | None, flags: Mapping[str, Any], *, check: bool) -> Iterator[Finding]:
    from crosswind.gateway.config.loading import load

    try:
        settings = load(config, flags)
    except ConfigurationError as error:
        yield from (Finding(Mark.BAD, problem) for problem in error.problems)
        return
    from crosswind.gateway.commands.diagnosis import diagnose, diagnose_training

    yield Finding(Mark.GOOD, f"configuration: {config or 'flags and variables'}: complete, with valid values")
    yield from diagnose(settings)
    if check:
        yield from diagnose_training(settings)


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
