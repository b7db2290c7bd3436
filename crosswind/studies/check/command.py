"""The command `crosswind noise check`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from crosswind.gateway.counts import count
from crosswind.gateway.trajectory.commands.store_option import open_named
from crosswind.injectors.cli.commands import (
    ConfigurationError,
    read_profile,
    report_errors,
)
from crosswind.injectors.cli.completion import complete_profiles
from crosswind.injectors.profiles.load import Profile
from crosswind.studies.check.forecast import Forecast, forecast
from crosswind.studies.check.printing import print_forecast
from crosswind.studies.check.stored_conversations import read_stored_conversations
from crosswind.studies.conversations import RecordedConversation, read_conversation, tools_in
from crosswind.studies.gateway_options import ServedNoise, gateway_options


@click.command(
    short_help="Check a profile, and forecast what it does.",
    epilog="""\b
Examples:
  crosswind noise check mine.yaml
  crosswind noise check mine.yaml conversation.json
  crosswind noise check chaos/flaky-tools --store crosswind.db --sessions 20
  crosswind noise check mine.yaml conversation.json --config crosswind.yaml
  crosswind noise check agentnoisebench/tool --store crosswind.db --assume-replayable
""",
)
@click.argument(
    "profile_file",
    metavar="PROFILE",
    shell_complete=complete_profiles,
    type=click.Path(path_type=Path, dir_okay=False),
)
@click.argument("target", metavar="[CONVERSATION|STORE]", required=False)
@click.option("--store", "url", help="The store to read conversations from: a path or a URL.")
@click.option(
    "--seeds",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Seeds that are tried, for each conversation.",
)
@click.option("--seed", default=0, show_default=True, help="The first of them.")
@click.option("--level", type=int, help="Level of the profile; by default the profile's own.")
@click.option(
    "--sessions",
    type=click.IntRange(1),
    default=50,
    show_default=True,
    help="Of a store, the newest so many sessions.",
)
@gateway_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def check(
    profile_file: Path,
    target: str | None,
    url: str | None,
    seeds: int,
    seed: int,
    level: int | None,
    sessions: int,
    served: ServedNoise,
    as_json: bool,
) -> None:
    """Check a profile (a YAML file, or a built-in one's name), and say in expected numbers what it will do.

    CONVERSATION is a JSON file of messages, or of a request's body in the shape of Chat Completions,
    Responses or Messages. With --store it is what a store's agents sent. Exit code 2 and one line that says
    what to fix if the profile is wrong.
    """
    if url is not None and target is not None:
        raise click.UsageError(f"--store {url} and {target!r} both name conversations: give one of them")
    target = target or (url if url is None or "://" in url else f"sqlite:///{url}")
    conversations = _conversations(target, sessions) if target is not None else []
    profile = read_profile(profile_file, tools_in(conversations))
    acting = served.apply(profile)
    if target is None or not as_json:
        click.echo(f"{profile_file}: {_sound(profile)}")
        if assumption := served.describe_assumption(profile):
            Console(highlight=False).print(Text(assumption))
    if target is None:
        return
    with report_errors():
        seeded = range(seed, seed + seeds)
        expectation = forecast(acting, conversations, seeded, level, served.tool_classes)
    if as_json:
        click.echo(json.dumps(_document(acting, expectation)))
    else:
        print_forecast(expectation, len(conversations))


def _sound(profile: Profile) -> str:
    rules = count(len(profile.rules), "rule")
    if not profile.rules:
        return f"profile {profile.name!r} version {profile.version} has no rule: it is sound and does nothing"
    return f"profile {profile.name!r} version {profile.version} is sound: {rules}, {profile.compose.value}"


def _conversations(target: str, sessions: int) -> Sequence[RecordedConversation]:
    """The conversation of a JSON file, or those of a store: a URL, or a file that is an SQLite database."""
    path = Path(target)
    if "://" not in target and not _is_database(path):
        return [RecordedConversation.of_request(path.name, *read_conversation(path))]
    with open_named(target) as store:
        found = list(read_stored_conversations(store, sessions))
    if not found:
        raise ConfigurationError(f"{target}: no session has bodies on record: give a conversation's file")
    return found


def _is_database(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(15) == b"SQLite format 3"
    except OSError:
        return False  # Reading it as a conversation says what is wrong.


def _document(profile: Profile, found: Forecast) -> dict[str, Any]:
    return {
        "profile": profile.name,
        "version": profile.version,
        "assume_tools": profile.assume_tools,
        "sessions": found.sessions,
        "noisy": found.noisy,
        "injected": found.injected,
        "operators": [
            {
                "operator": operator,
                "severity": severity,
                **{
                    what: count / found.sessions for what, count in one.to_json().items() if count is not None
                },
                "exposure_rate": one.exposure_rate,
                "reasons": dict(found.reasons.get((operator, severity), Counter()).most_common(3)),
            }
            for (operator, severity), one in sorted(found.operators.items())
        ],
        "unknown_tools": sorted(found.unknown_tools),
    }
