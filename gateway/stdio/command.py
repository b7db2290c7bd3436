"""`crosswind mcp`: an MCP server over stdio, with noise on its traffic."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import click

from crosswind.gateway.errors import ConfigurationError
from crosswind.gateway.stdio.relay import MessageNoise, Relay, leave


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
@click.option("--profile", help="A profile's name, or a YAML file. Without a gateway the default is `off`.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seeds the noise.")
@click.option("--session", help="The session. Its noise is seeded by it, too.")
@click.option(
    "--control",
    envvar="CROSSWIND_CONTROL_URL",
    metavar="URL",
    help="The control plane of the session's gateway.",
)
@click.option(
    "--key", envvar="CROSSWIND_CONTROL_KEY", help="A key of the control plane, of the role `operate`."
)
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
# As everywhere, but the option is written out: nothing of the injectors is imported before the server starts.
@click.option(
    "--packs",
    type=click.Path(path_type=Path),
    envvar="CROSSWIND_PACKS",
    show_envvar=True,
    help="A folder of phrase packs, like `packs`; each takes the place of the shipped one.",
)
@click.option("--dry-run", is_flag=True, help="Change nothing; the events say what would have been done.")
@click.option(
    "--wait",
    type=click.FloatRange(min=0),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="How long calls wait for a gateway that doesn't answer; then they go on without noise.",
)
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND [ARGUMENT]...")
def mcp(
    profile: str | None,
    seed: int,
    session: str | None,
    control: str | None,
    key: str | None,
    name: str | None,
    events: Path | None,
    tools_read_only: tuple[str, ...],
    may_repeat: tuple[str, ...],
    packs: Path | None,
    dry_run: bool,
    wait: float,
    command: tuple[str, ...],
) -> None:
    """Start an MCP server over stdio, and put noise on calls of its tools, their results and their list.

    It stands in the place of the server's own command in a client's configuration. All else passes byte
    for byte. Calls of tools that may change something fail only before they reach the server.
    """

    def load() -> MessageNoise:
        # Imported while the server starts. The collector would go through all of it, which stays anyway.
        gc.disable()
        from crosswind.gateway.stdio.loading import Wanted, load_noise

        link = name or Path(command[0]).name
        repeat = may_repeat, dry_run, wait
        wanted = Wanted(profile, seed, session, link, events, tools_read_only, *repeat, packs)
        noise = load_noise(wanted, control, key)
        gc.freeze()
        gc.enable()
        return noise

    idle = control is None and events is None and profile in (None, "off")
    if profile is None and control is None:
        click.echo("crosswind mcp: no noise: give --profile or --control", err=True)
    try:
        status = Relay(command, None if idle else load).run()
    except OSError as error:
        raise ConfigurationError(
            f"{command[0]}: {error.strerror}; give the server's command behind `--`"
        ) from error
    except ValueError as error:
        raise ConfigurationError(str(error)) from error
    sys.stdout.flush()
    leave(status)
