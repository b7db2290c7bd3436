"""The root command. Each package adds its own commands through the entry-point group `crosswind.commands`."""

from __future__ import annotations

import importlib
import io
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from crosswind.gateway.errors import ConfigurationError, nearest
from crosswind.gateway.help_formatter import FoldingFormatter

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "crosswind.commands"
_PROMPT = {"mcp": "crosswind.gateway.stdio.command"}
"""Commands whose starts somebody waits for, with their modules: to look through all packages' entry points
takes as long as all else before their work."""

SECTIONS = {
    "Serve": {
        "serve": "Put the gateway in front of a model server.",
        "config": "Print the effective configuration.",
        "http": "Put noise on HTTP tools, by a forward proxy.",
        "doctor": "Check configuration, store and upstreams.",
        "mcp": "Put noise between a client and an MCP server.",
        "tools": "Say which tools are safe to re-issue.",
        "demo": "Play the whole loop: serve, train, report.",
    },
    "Test an agent": {
        "init": "Write a first configuration, tasks, an agent.",
        "chaos": "Measure your agent's drop in success.",
        "compare": "Compare two stores, task by task.",
        "drill": "Put noise on a share of live traffic.",
    },
    "Noise": {
        "noise": "List, show, preview and check noise.",
    },
    "Records": {
        "report": "Write an HTML report of a store.",
        "export": "Write trajectories as JSON lines.",
        "sessions": "Show what sessions said and saw.",
        "replay": "Show what the policy was sent, and why.",
        "store": "Back up, prune, verify, migrate, delete.",
    },
    "Practice and training": {
        "rollout": "Play episodes of practice tasks.",
        "bench": "Measure clean and noisy success.",
        "train": "Train a policy on groups of rollouts.",
        "policy": "Serve policies and manage their versions.",
    },
    "Shell": {
        "completion": "Print the script that completes commands.",
    },
}
"""Every command with its summary, kept here so that the root help imports no package."""

EXAMPLES = """\b
Examples:
  crosswind serve --upstream http://127.0.0.1:8000/v1
  crosswind noise list
  crosswind report --out report.html

`crosswind COMMAND --help` explains a command.
"""


class LazyCommands(click.Group):
    """Commands that are imported only when they are run or their help is printed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_find_commands())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if (module := _PROMPT.get(cmd_name)) is not None:
            command = getattr(importlib.import_module(module), cmd_name)
        elif (entry := _find_commands().get(cmd_name)) is None:
            return None
        else:
            command = entry.load()
        if not isinstance(command, click.Command):
            raise ConfigurationError(
                f"the command {cmd_name!r} is not a click command: fix the package that adds it"
            )
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        left = dict.fromkeys(self.list_commands(ctx), "")
        for title, summaries in SECTIONS.items():
            rows = [(name, summary) for name, summary in summaries.items() if name in left]
            left = {name: "" for name in left if name not in summaries}
            self._write_section(formatter, title, rows)
        self._write_section(formatter, "Of other packages", list(left.items()))

    @staticmethod
    def _write_section(formatter: click.HelpFormatter, title: str, rows: Sequence[tuple[str, str]]) -> None:
        if rows:
            widest = max(len(name) for summaries in SECTIONS.values() for name in summaries)
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), summary) for name, summary in rows])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = not args or args[0].startswith("-") or args[0] in _PROMPT
        if not known and args[0] not in _find_commands():
            raise click.UsageError(f"unknown command {args[0]!r}: {nearest(args[0], _find_commands())}", ctx)
        return super().resolve_command(ctx, args)


def _find_commands() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group=GROUP)}


class _Version(str):
    """Our version, which is looked up when it is printed."""

    def __str__(self) -> str:
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("crosswind")
        except PackageNotFoundError:
            return "unknown"


@click.group(cls=LazyCommands, context_settings={"help_option_names": ["-h", "--help"]}, epilog=EXAMPLES)
@click.version_option(_Version(), prog_name="crosswind")
def root() -> None:
    """Put noise on live agent traffic, record it, and train on it."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command. Configuration and usage errors become one line on stderr and exit code 2."""
    _escape_unprintable()
    if sys.stdout.isatty():
        click.Context.formatter_class = FoldingFormatter
    try:
        code = root.main(
            args=list(arguments) if arguments is not None else None,
            prog_name="crosswind",
            standalone_mode=False,
        )
    except ConfigurationError as error:
        _fail("\ncrosswind: ".join(error.problems), 2)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(error.exit_code)
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
    if similar := getattr(error, "possibilities", None):
        # Click puts what is similar in the alphabet's order: the closest, its first, is enough.
        message = f"{error.message.removesuffix('.')}: did you mean {similar[0]!r}?"
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f"{message} (see `{context.command_path} --help`)" if context else message


def _fail(message: str, code: int) -> None:
    click.echo(f"crosswind: {message}", err=True)
    sys.exit(code)


if __name__ == "__main__":
    main()
