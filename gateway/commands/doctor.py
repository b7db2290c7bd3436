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
from crosswind.gateway.whole_file import OutFile, write_whole
from crosswind.injectors.targets import ToolClass

SHORTEST_KEY = 20
"""Characters. A shorter key could be guessed from its digest."""


@click.command(
    short_help="Check the configuration, the store and the upstreams.",
    epilog="""\b
Examples:
  crosswind doctor --config crosswind.yaml
  crosswind doctor --upstream http://127.0.0.1:8000/v1 --check
  crosswind doctor --mcp http://127.0.0.1:3001/mcp --write-profile shop.yaml
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
@click.option("--mcp", metavar="URL", help="List this MCP server's tools, with class and proposed noise.")
@click.option("--http", metavar="FILE|URL", help="The same for the API of this OpenAPI document.")
@click.option("--write-profile", type=OutFile(), help="Write a profile for these tools to begin with.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def doctor(
    config: Path | None,
    hash_key: bool,
    check: bool,
    mcp: str | None,
    http: str | None,
    write_profile: Path | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Check whether `crosswind serve` could serve with these options, and print a line for each finding.
    Without --check no upstream is asked.

    ✓ is good, ! is to be known, ✗ has to be fixed. The exit code is 1 if there is any ✗. The configuration
    itself is printed by `crosswind config show`.
    """
    if hash_key:
        return click.echo(f"key_sha256: {_digest_of_input()}")
    if mcp is not None or http is not None:
        return _list_tools(mcp, http, write_profile, flags, as_json=as_json)
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

    complete = True
    try:
        settings = load(config, flags)
    except ConfigurationError as error:
        yield from (Finding(Mark.BAD, problem) for problem in error.problems)
        # What is there may still be looked at where only something is missing.
        complete = False
        try:
            settings = load(config, flags, complete=False)
        except ConfigurationError:
            return
    from crosswind.gateway.commands.diagnosis import diagnose, diagnose_training

    if complete:
        found = config or "flags and variables"
        yield Finding(Mark.GOOD, f"configuration: {found}: complete, with valid values")
    if settings.packs is not None:
        yield _examine_packs(settings.packs)
    yield from diagnose(settings)
    if check:
        yield from diagnose_training(settings)


def _examine_packs(folder: Path) -> Finding:
    from crosswind.injectors.packs.load import PackError, use_folder

    try:
        use_folder(folder)
    except PackError as error:
        return Finding(Mark.BAD, str(error))
    return Finding(Mark.GOOD, f"packs {folder}: can be read, and take the place of shipped ones")


def _list_tools(
    mcp: str | None, http: str | None, profile: Path | None, flags: Mapping[str, Any], *, as_json: bool
) -> None:
    """List the tools of a server or an API, with what they do to the world and the noise that this allows."""
    from crosswind.gateway.commands import tool_diagnosis

    if mcp is not None and http is not None:
        raise click.UsageError("give either --mcp or --http")
    reads = dict.fromkeys(flags.get("tools_read_only") or (), ToolClass.READ_ONLY)
    try:
        tools = (
            tool_diagnosis.diagnose_mcp(mcp, (reads,))
            if mcp is not None
            else tool_diagnosis.diagnose_http(str(http), (reads,))
        )
    except tool_diagnosis.NoToolsError as error:
        raise click.ClickException(str(error)) from None
    if profile is not None:
        write_whole(profile, tool_diagnosis.write_profile(profile.stem, tools))
    if as_json:
        safety = [(one, one.safety) for one in tools]
        listed = [
            {
                "name": one.name,
                "class": of.tool_class,
                "origin": of.origin,
                "evidence": of.evidence,
                "operators": one.operators,
            }
            for one, of in safety
        ]
        return click.echo(json.dumps({"tools": listed}))
    for line in tool_diagnosis.describe_tools(tools):
        click.echo(line)
    if profile is not None:
        click.echo(f"\nwrote {profile}: correct its classes, then give it as --profile {profile}")
    return None


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
