"""The root command. Each package adds its own commands through the entry-point group `crosswind.commands`."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, version

import click

from crosswind.gateway.errors import ConfigurationError, nearest

GROUP = "crosswind.commands"

SUMMARIES = {
    "serve": "Put the gateway in front of an OpenAI-compatible server.",
    "demo": "The whole loop in one command: serve, practise, train, report.",
    "doctor": "Print the effective configuration, with secrets hidden.",
    "noise": "List, show, preview and check noise profiles.",
    "rollout": "Run agents through the gateway on practice tasks.",
    "bench": "Measure clean and noisy success with intervals.",
    "train": "Train a policy on completed groups of a store.",
    "policy": "Serve policies; list, publish, verify, compare and roll back their versions.",
    "report": "Write an HTML report of a store.",
    "export": "Write trajectories as JSON lines.",
    "replay": "Compute again what a session's policy was sent, and where views differ.",
    "store": "Back up, prune, verify, migrate or delete trajectories.",
}
"""One line per command, kept here so that the root help imports no package."""


class LazyCommands(click.Group):
    """Commands that are imported only when they are run or their help is printed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_find_commands())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = _find_commands().get(cmd_name)
        if entry is None:
            return None
        command = entry.load()
        if not isinstance(command, click.Command):
            raise ConfigurationError(
                f"entry point {entry.value!r} is not a click command: fix the package that adds it"
            )
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, SUMMARIES.get(name, "")) for name in self.list_commands(ctx)])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in _find_commands():
            raise click.UsageError(f"unknown command {args[0]!r}: {nearest(args[0], _find_commands())}", ctx)
        return super().resolve_command(ctx, args)


def _find_commands() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def _read_version() -> str:
    try:
        return version("crosswind")
    except PackageNotFoundError:
        return "unknown"


@click.group(cls=LazyCommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(_read_version(), prog_name="crosswind")
def root() -> None:
    """Crosswind: noise on live agent traffic, and a trainer that teaches a policy to fly in it."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command. Configuration and usage errors become one line on stderr and exit code 2."""
    _escape_unprintable()
    try:
        code = root.main(args=list(arguments) if arguments is not None else None, standalone_mode=False)
    except ConfigurationError as error:
        _fail("\ncrosswind: ".join(error.problems), 2)
    except click.ClickException as error:
        _fail(_format_error(error), 2 if isinstance(error, click.UsageError) else error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        _fail("interrupted", 130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)


def _escape_unprintable() -> None:
    """Recorded texts may hold lone surrogates, which can't be encoded: print them as escapes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _format_error(error: click.ClickException) -> str:
    message = " ".join(error.format_message().split())
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f"{message} (see `{context.command_path} --help`)" if context else message


def _fail(message: str, code: int) -> None:
    click.echo(f"crosswind: {message}", err=True)
    sys.exit(code)


if __name__ == "__main__":
    main()
