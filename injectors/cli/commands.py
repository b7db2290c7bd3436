"""`crosswind noise`: which operators and profiles there are, what they do, and whether a profile is sound."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from crosswind.injectors import registry
from crosswind.injectors.cli import examples, listing
from crosswind.injectors.cli.completion import complete_noise
from crosswind.injectors.cli.groups import ExtensibleGroup
from crosswind.injectors.cli.packs import pack
from crosswind.injectors.cli.rendering import (
    reflow,
    render_event,
    render_heading,
)
from crosswind.injectors.conversation import Site
from crosswind.injectors.profiles import load as profiles
from crosswind.injectors.profiles.load import Profile, ProfileError

GROUP = "crosswind.noise"
"""The entry-point group of further commands of `crosswind noise`."""


class ConfigurationError(click.ClickException):
    """One line on stderr that names what to fix; exit code 2."""

    exit_code = 2


@contextmanager
def report_errors(prefix: str = "") -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise ConfigurationError(f"{prefix}{error}") from error


class NoiseGroup(ExtensibleGroup):
    """The commands here and those of other packages, with a clear error for a broken operator's package."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except registry.BrokenOperatorPackageError as error:
            raise ConfigurationError(str(error)) from error


@click.group(
    cls=NoiseGroup,
    extensions=GROUP,
    short_help="List, show, preview and check noise.",
    epilog="""\b
Examples:
  crosswind noise list --site tool_result
  crosswind noise show tool.timeout
  crosswind noise check chaos/flaky-tools --store crosswind.db
""",
)
def noise() -> None:
    """Operators and profiles of noise, what they do, and whether tasks stay solvable."""


noise.add_command(pack)


@noise.command(
    "list",
    short_help="List operators and profiles.",
    epilog="""\b
Examples:
  crosswind noise list
  crosswind noise list timeout
  crosswind noise list --site tool_result
  crosswind noise list --profiles chaos
  crosswind noise list --json | jq -r '.operators[].name'
""",
)
@click.argument("word", required=False)
@click.option("--operators", "only_operators", is_flag=True, help="Operators only.")
@click.option("--profiles", "only_profiles", is_flag=True, help="Profiles only.")
@click.option("--site", type=click.Choice([site.value for site in Site]), help="Operators of this site only.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document, with every detail.")
def list_(
    word: str | None, only_operators: bool, only_profiles: bool, site: str | None, as_json: bool
) -> None:
    """List operators and profiles, or those with WORD in their name or summary.

    On a terminal and without a filter only names are listed, so that they fit a screen; otherwise a line for
    each says what it does. `crosswind noise show NAME` says all about one.
    """
    if only_profiles and (only_operators or site):
        raise click.UsageError("--profiles: profiles have no site and are no operators; leave one out")
    operators = [] if only_profiles else listing.select_operators(site, word)
    named = [] if only_operators or site else listing.select_profiles(word)
    if as_json:
        return click.echo(json.dumps(listing.describe(operators, named)))
    if not operators and not named:
        raise ConfigurationError(f"nothing is called {word!r}: `crosswind noise list` names everything")
    console = Console()
    if console.is_terminal and not (word or only_operators or only_profiles or site):
        listing.print_names(console, operators, named)
    else:
        listing.print_lines(console, operators, named)


@noise.command(
    short_help="Show what an operator or a profile does.",
    epilog="""\b
Examples:
  crosswind noise show tool.incomplete --seed 3
  crosswind noise show chaos/flaky-tools > mine.yaml
""",
)
@click.argument("name", shell_complete=complete_noise)
@click.option("--seed", default=0, show_default=True, help="Seed of the example.")
def show(name: str, seed: int) -> None:
    """Show what the operator NAME does, with an example made on the spot, or the profile NAME."""
    console = Console()
    base = name.partition("/level-")[0]
    try:
        # As it is, for a copy of one's own: never broken into lines of the terminal's width.
        click.echo(profiles.source(base).rstrip("\n"))
        return
    except ProfileError:
        pass  # It is no profile, by whatever name.
    try:
        entry = registry.resolve(name)
    except registry.UnknownOperatorError as error:
        known = [*registry.operators(), *registry.aliases(), *profiles.names()]
        raise ConfigurationError(
            f"unknown operator or profile {name!r}; {registry.nearest(name, known)}"
        ) from error
    console.print(render_heading(entry.name))
    console.print(reflow(entry.documentation), markup=False, highlight=False)
    source = entry.source or entry.origin
    facts = {"recovery": entry.recovery.value, "site": entry.site.value, "source": source}
    facts["other names"] = ", ".join(entry.aliases)
    facts["options"] = ", ".join(f"{option} ({default!r})" for option, default in entry.options.items())
    for label, fact in facts.items():
        if fact:
            console.print(f"{label}: {fact}", markup=False, highlight=False)
    for severity in (0.25, 0.5, 1.0):
        example = examples.make(entry, severity, seed)
        console.print(f"\nAt severity {severity:g}:", highlight=False)
        if example is None:
            console.print("  no effect on the example with this seed; try another --seed")
        else:
            console.print(render_event(example.before, example.after, example.note))


def read_profile(name_or_file: str | Path, tools: Sequence[str] = ()) -> Profile:
    """The profile in a YAML file, or the built-in one of that name; `tools` are those that it may name, if
    they are known."""
    path = Path(name_or_file)
    with report_errors():
        if path.suffix not in (".yaml", ".yml") and not path.is_file():
            return profiles.load(str(name_or_file))
        return profiles.parse(read_file(path), str(path), tools=tools)


def read_file(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}: name a file that can be read") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path}: not UTF-8 at byte {error.start}: save it as UTF-8") from error
