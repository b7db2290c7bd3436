"""`crosswind mcp`: an MCP server over stdio, with noise on its traffic."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from crosswind.gateway.errors import ConfigurationError
from crosswind.gateway.stdio.relay import MessageNoise, Relay, leave

if TYPE_CHECKING:
    from crosswind.gateway.tools.events import ToolEvent
    from crosswind.injectors.engine.plan import Plan

OFF = "off"


@click.command(
    short_help="Put noise between a client and an MCP server.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog="""\b
Examples:
  crosswind mcp --profile chaos/flaky-tools -- npx -y @modelcontextprotocol/server-filesystem .
  crosswind mcp --profile mine.yaml --seed 7 --events events.jsonl -- python server.py
  crosswind mcp --dry-run --profile chaos/flaky-tools --events would.jsonl -- python server.py
""",
)
@click.option("--profile", default=OFF, show_default=True, help="A profile's name, or a YAML file.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seeds the noise.")
@click.option("--session", default=None, help="The session's name: what its draws are seeded with, too.")
@click.option("--name", default=None, help="What the server is called in events; by default its command.")
@click.option("--events", type=click.Path(dir_okay=False, path_type=Path), help="Append events to this file.")
@click.option(
    "--tools-read-only",
    multiple=True,
    metavar="GLOB",
    help="Tools that only read. May be given several times.",
)
@click.option(
    "--may-repeat",
    multiple=True,
    metavar="GLOB",
    help="Tools whose calls may be delivered twice, and cut after they were carried out.",
)
@click.option("--dry-run", is_flag=True, help="Change nothing; the events say what would have been done.")
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND [ARGUMENT]...")
def mcp(
    profile: str,
    seed: int,
    session: str | None,
    name: str | None,
    events: Path | None,
    tools_read_only: tuple[str, ...],
    may_repeat: tuple[str, ...],
    dry_run: bool,
    command: tuple[str, ...],
) -> None:
    """Start an MCP server over stdio, and put noise on calls of its tools, their results and their list.

    It stands in the place of the server's own command in a client's configuration. All else passes byte
    for byte. Calls of tools that may change something fail only before they reach the server.
    """

    def load() -> MessageNoise:
        # Imported while the server starts.
        from crosswind.gateway.stdio.message_noise import EventFile, LinkNoise
        from crosswind.gateway.tools.leg import ToolLeg

        key = session or "session"
        plan = _make_plan(profile, seed, key, tools_read_only)
        file = None if events is None else EventFile(events)
        record: Callable[[Sequence[ToolEvent]], None] = (lambda _: None) if file is None else file.add
        leg = ToolLeg(plan, key, secrets.token_hex(6), may_repeat=may_repeat)
        return LinkNoise(leg, name or Path(command[0]).name, record, dry=dry_run)

    try:
        status = Relay(command, load).run()
    except OSError as error:
        raise ConfigurationError(
            f"{command[0]}: {error.strerror}; give the server's command behind `--`"
        ) from error
    except ValueError as error:
        raise ConfigurationError(str(error)) from error
    sys.stdout.flush()
    leave(status)


def _make_plan(profile: str, seed: int, key: str, read_only: Sequence[str]) -> Plan:
    from crosswind.injectors.engine.plan import Seed, make_plan
    from crosswind.injectors.profiles import load as profiles
    from crosswind.injectors.targets import ToolClass

    path = Path(profile)
    if path.suffix in (".yaml", ".yml") or path.is_file():
        try:
            found = profiles.parse(path.read_text(encoding="utf-8"), profile)
        except OSError as error:
            raise ConfigurationError(f"{profile}: {error.strerror}: name a file that can be read") from error
    else:
        found = profiles.load(profile)
    tables = [dict.fromkeys(read_only, ToolClass.READ_ONLY)]
    return make_plan(found, Seed(seed, key), tool_classes=tables)
