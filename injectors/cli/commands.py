"""`crosswind noise`: which operators and profiles there are, what they do, and whether a profile is sound."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from crosswind.injectors import registry
from crosswind.injectors.cli import examples
from crosswind.injectors.cli.documents import DocumentError, conversation, find_instructions, read_document
from crosswind.injectors.cli.preview import PreviewEvent
from crosswind.injectors.cli.preview import preview as preview_events
from crosswind.injectors.cli.rendering import (
    reflow,
    render_event,
    render_heading,
    render_message,
    render_operator,
)
from crosswind.injectors.conversation import Conversation, Site
from crosswind.injectors.engine.plan import NOISY, Assignment, Plan, Seed, make_plan
from crosswind.injectors.profiles import load as profiles
from crosswind.injectors.profiles.load import Profile, ProfileError
from crosswind.injectors.wording import Texts

GROUP = "crosswind.noise"
"""The entry-point group of further commands of `crosswind noise`."""
TEXTS = "crosswind.texts"
"""The entry-point group of what opens the texts that a gateway's model wrote, by its configuration file."""


class ConfigurationError(click.ClickException):
    """One line on stderr that names what to fix; exit code 2."""

    exit_code = 2


@contextmanager
def report_errors(prefix: str = "") -> Iterator[None]:
    """Report a ValueError as a ConfigurationError."""
    try:
        yield
    except ValueError as error:
        raise ConfigurationError(f"{prefix}{error}") from error


class Commands(click.Group):
    """The commands here, and those that other packages add by the entry-point group `crosswind.noise`: this
    package reads no store and speaks no HTTP."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *(entry.name for entry in entry_points(group=GROUP))})

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except registry.BrokenOperatorPackageError as error:
            raise ConfigurationError(str(error)) from error

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if (own := super().get_command(ctx, cmd_name)) is not None:
            return own
        found = next((entry for entry in entry_points(group=GROUP) if entry.name == cmd_name), None)
        command = found.load() if found is not None else None
        return command if isinstance(command, click.Command) else None


@click.group(cls=Commands)
def noise() -> None:
    """Operators and profiles of noise, what they do, and whether tasks stay solvable."""


@noise.command("list")
def list_() -> None:
    """List the operators, site by site, and the built-in profiles."""
    console = Console()
    for site in Site:
        console.print(render_heading(f"Site {site.value}"))
        for name, entry in sorted(registry.operators().items()):
            if entry.site is site:
                console.print(render_operator(name, entry))
    table = Table("profile", "levels", "summary", title="Profiles", title_justify="left")
    for name in profiles.names():
        known = profiles.load(name)
        table.add_row(name, "\n".join(profiles.levels(name)), escape(known.summary))
    console.print(table)


@noise.command()
@click.argument("name")
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
    facts = {"recovery": entry.recovery.value, "site": entry.site.value, "source": entry.source}
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


@noise.command()
@click.option(
    "--profile", "profile_name", required=True, help="A built-in profile, NAME/level-K, or a YAML file."
)
@click.option("--seed", default=0, show_default=True, help="Seed of the draws.")
@click.option("--level", type=int, help="Level of the profile; by default the profile's own.")
@click.option("--type", "noise_type", help="Keep this operator only.")
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A gateway's configuration: shows what its noise model wrote, out of its store.",
)
@click.option("--json", "as_json", is_flag=True, help="Print each event as a line of JSON.")
@click.argument("conversation_file", metavar="CONVERSATION", type=click.Path(path_type=Path, dir_okay=False))
def preview(
    profile_name: str,
    seed: int,
    level: int | None,
    noise_type: str | None,
    config: Path | None,
    as_json: bool,
    conversation_file: Path,
) -> None:
    """Show what a profile does to CONVERSATION: before, after and why. It is a JSON file of messages, or of a
    request's body in the shape of Chat Completions, Responses or Messages."""
    console = Console()
    messages, view = read_conversation(conversation_file)
    profile = read_profile(profile_name)
    with report_errors():
        plan = make_plan(
            profile, Seed(seed, "preview"), Assignment(NOISY, level=level, noise_type=noise_type)
        )
    with ExitStack() as stack:
        texts = None if config is None else stack.enter_context(_open_texts(config))
        if as_json:
            for one in _events(plan, messages, view, texts):
                click.echo(json.dumps(asdict(one), ensure_ascii=False))
            return
        at = "" if plan.level is None else f"level {plan.level}, "
        summary = f"profile {plan.profile}, {at}seed {seed}, type {plan.noise_type or 'any'}"
        console.print(summary, markup=False)
        print_preview(console, plan, messages, view, texts)


def _events(plan: Plan, messages: list[Any], view: Conversation, texts: Texts | None) -> list[PreviewEvent]:
    turns = sum(message["role"] == "assistant" for message in messages)
    return list(preview_events(plan, view, turns, instructions=find_instructions(messages), texts=texts))


@contextmanager
def _open_texts(config: Path) -> Iterator[Texts]:
    """The texts that a gateway's model wrote. A package that knows gateways opens them, by an entry point."""
    opener = next(iter(entry_points(group=TEXTS)), None)
    if opener is None:
        raise ConfigurationError(f"--config: nothing reads it: install a package with an entry point {TEXTS}")
    with ExitStack() as stack:
        with report_errors("--config: "):
            texts = stack.enter_context(opener.load()(config))
        yield texts


def print_preview(
    console: Console,
    plan: Plan,
    messages: list[Any],
    view: Conversation,
    texts: Texts | None = None,
) -> None:
    """Print the whole conversation, with each event under the message that it changes."""
    events = _events(plan, messages, view, texts)
    _print_events(console, [one for one in events if one.message is None and one.answer is None])
    answer = -1
    for number, message in enumerate(messages):
        console.print(render_message(number, message))
        answer += message["role"] == "assistant"
        _print_events(console, [one for one in events if one.message == number])
        if message["role"] == "assistant":
            _print_events(console, [one for one in events if one.answer == answer])
    shown = sum(one.after is not None for one in events)
    console.print(
        f"\n{shown} injected, {len(events) - shown} withdrawn."
        + ("" if shown else " Another --seed or --level gives other draws.")
    )


def _print_events(console: Console, events: Iterable[PreviewEvent]) -> None:
    for one in events:
        console.print(
            render_heading(f"{one.decision.rule} at severity {one.decision.severity:g}: {one.place}")
        )
        console.print(render_event(one.before, one.after, one.note))


def read_profile(name_or_file: str | Path, tools: Sequence[str] = ()) -> Profile:
    """The profile in a YAML file, or the built-in one of that name; `tools` are those that it may name, if
    they are known."""
    path = Path(name_or_file)
    with report_errors():
        if path.suffix not in (".yaml", ".yml") and not path.is_file():
            return profiles.load(str(name_or_file))
        return profiles.parse(_read(path), str(path), tools=tools)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}: name a file that can be read") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path}: not UTF-8 at byte {error.start}: save it as UTF-8") from error


def read_conversation(path: Path) -> tuple[list[Any], Conversation]:
    """The chat messages in a JSON file, and what operators see of them."""
    try:
        messages, tools = read_document(json.loads(_read(path)))
        return messages, conversation(messages, tools)
    except DocumentError as error:
        raise ConfigurationError(f"{path}: {error}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path}: not JSON: {error}; give a JSON file of chat messages") from error
