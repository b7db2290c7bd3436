"""`crosswind tools audit`: which tools of an MCP server are safe to re-issue."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from crosswind.gateway.whole_file import OutFile, write_whole

if TYPE_CHECKING:
    from crosswind.gateway.commands.tool_audit import AuditedCall


@click.group(
    short_help="Say which tools are safe to re-issue.",
    epilog="""\b
Example:
  crosswind tools audit --calls calls.yaml -- python server.py
""",
)
def tools() -> None:
    """Find out what the tools of a server do."""


@tools.command(
    short_help="Deliver calls twice, and say which are safe to re-issue.",
    epilog="""\b
Examples:
  crosswind tools audit --calls calls.yaml --dry-run
  crosswind tools audit --calls calls.yaml -- npx -y @modelcontextprotocol/server-memory
  crosswind tools audit --calls calls.yaml --mcp http://127.0.0.1:3001/mcp --fail

\b
calls.yaml:
  - tool: place_order
    arguments: {item: lamp}
    reads: [{tool: list_orders}]
""",
)
@click.option(
    "--calls",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    required=True,
    help="The calls to deliver twice, with the reads that show the state: YAML, or JSON lines (.jsonl).",
)
@click.option("--mcp", metavar="URL", help="An MCP server over HTTP, in place of a command.")
@click.option("--key-env", metavar="NAME", help="The variable that has the key of the server at --mcp.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long the server may take to answer.",
)
@click.option("--out", type=OutFile(), help="Write the result to this file.")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON document.")
@click.option("--fail", is_flag=True, help="Exit with 1 if a call was applied twice.")
@click.option("--dry-run", is_flag=True, help="Print what would be called, and call nothing.")
@click.argument("command", nargs=-1, metavar="[-- COMMAND [ARGUMENT]...]")
def audit(
    file: Path,
    mcp: str | None,
    key_env: str | None,
    timeout: float,
    out: Path | None,
    as_json: bool,
    fail: bool,
    dry_run: bool,
    command: Sequence[str],
) -> None:
    """Deliver each call of a file twice to an MCP server, as a client does whose first answer was lost, and
    compare what reads show after one delivery and after two.

    Only tools that the file names are called. What the calls do stays done: use a server whose data don't
    matter.
    """
    from crosswind.gateway.commands import mcp_client, tool_audit

    if (mcp is None) == (not command) and not dry_run:
        raise click.UsageError("give either --mcp URL or the server's command behind `--`")
    if key_env is not None and key_env not in os.environ:
        raise click.UsageError(f"--key-env: the variable {key_env} is not set: set it, or correct the name")
    key = os.environ[key_env] if key_env is not None else None

    def connect() -> mcp_client.McpClient:
        if mcp is not None:
            return mcp_client.McpClient(mcp_client.HttpTransport(mcp, key=key, longest_s=timeout))
        return mcp_client.McpClient(mcp_client.StdioTransport(command, longest_s=timeout))

    try:
        calls = tool_audit.read_calls(file)
        if dry_run:
            return _print_calls(calls)
        names = ", ".join(dict.fromkeys(one.tool for one in calls))
        click.echo(f"Calls twice: {names}. What they do stays done.", err=True)
        audited = list(tool_audit.audit(calls, connect))
    except (tool_audit.CallsError, mcp_client.McpError) as error:
        raise click.ClickException(str(error)) from None
    rows = [one.as_json() for one in audited]
    text = json.dumps({"tools": rows}, ensure_ascii=False) if as_json else tool_audit.write_text(audited)
    if out is None:
        click.echo(text)
    else:
        write_whole(out, f"{text}\n")
        click.echo(f"wrote {out}", err=True)
    unsafe = any(one.verdict is tool_audit.Verdict.UNSAFE for one in audited)
    sys.exit(1 if fail and unsafe else 0)


def _print_calls(calls: Sequence[AuditedCall]) -> None:
    """Print what an audit would call, in order."""
    for one in calls:
        reads = "; ".join(read.describe() for read in one.reads)
        click.echo(f"twice: {one.describe()}\n  before, between and after, two times each: {reads}")
