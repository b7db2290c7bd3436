"""The command `crosswind replay`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import click
import httpx

from crosswind.gateway.config.upstream import parse_base_url
from crosswind.gateway.trajectory.commands.store_option import open_named, store_option
from crosswind.gateway.trajectory.ledger_rows import Shown
from crosswind.gateway.trajectory.record import Trajectory
from crosswind.injectors.cli.commands import read_profile
from crosswind.injectors.cli.completion import complete_profiles
from crosswind.injectors.cli.packs_option import packs_option
from crosswind.injectors.profiles.model import Profile
from crosswind.studies.replay import recompute
from crosswind.studies.replay.comparison import ReplayedAnswer, ask_again, compare
from crosswind.studies.replay.counterfactual import make_other_session, play
from crosswind.studies.replay.counterfactual_text import render, to_json
from crosswind.studies.replay.recompute import ReplayedTurn

_SHOWN = 100
"""How many characters of a value a line shows."""
_FROM_THE_RECORD = 3
"""The exit code where something was taken from the record, and nothing failed."""


@click.command(
    short_help="Show what the policy was sent, and why.",
    epilog="""\b
Examples:
  crosswind replay s-1
  crosswind replay s-1 --against http://127.0.0.1:8000/v1 --json
  crosswind replay s-1 --under chaos/flaky-tools --seed 7
""",
)
@click.argument("session_id", metavar="SESSION")
@store_option
@click.option("--against", help="An upstream's base URL, with /v1: ask it again what it was asked.")
@click.option("--key", envvar="CROSSWIND_UPSTREAM_KEY", help="The upstream's key; better: the variable.")
@click.option("--timeout", "timeout_s", default=120.0, show_default=True, help="Seconds for each answer.")
@click.option(
    "--under",
    "profile",
    metavar="PROFILE",
    shell_complete=complete_profiles,
    help="Other noise: a built-in profile, NAME/level-K, or a YAML file.",
)
@click.option("--seed", type=int, help="Seed of the other noise; by default the session's.")
@packs_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def replay(
    session_id: str,
    url: str,
    against: str | None,
    key: str | None,
    timeout_s: float,
    profile: str | None,
    seed: int | None,
    as_json: bool,
) -> None:
    """Recompute what the policy was sent in each turn of SESSION, and show where the views differ:
    received from sent, sent from recomputed, and with --against the answers. Decisions that this version
    can't make again (another version of the operator or of a pack, or one that isn't installed) are named,
    and taken from the record.

    With --under, show what the policy would have been sent under another profile, as far as the recorded
    answers hold, and the turn at which they end. The exit code is 0.

    \b
    Exit code 1: what was sent doesn't follow from the plan, or an upstream failed.
    Exit code 3: it does, but for the decisions that are named.
    """
    try:
        base = None if against is None else parse_base_url(against)
    except ValueError as error:
        raise click.UsageError(f"--against: {error}") from error
    if profile is not None and against is not None:
        raise click.UsageError("--under and --against exclude each other: give one of them")
    if profile is None and seed is not None:
        raise click.UsageError("--seed is the seed of other noise: give --under with it")
    other = None if profile is None else read_profile(profile)
    with open_named(url) as store:
        found = store.trajectory(session_id)
        shown = store.ledger_since(session_id, 0)
    if found is None:
        raise click.ClickException(f"{url} has no session {session_id!r}; check its id")
    if other is not None:
        _play_under(found, shown, other, seed, as_json)
        return
    try:
        turns = recompute.replay(found.session, found.turns, found.events, shown)
    except ValueError as error:
        raise _unreadable(session_id, error) from error
    with httpx.Client(timeout=timeout_s) as http:
        report = [
            _report(turn, ask_again(http, base, key, turn.turn) if base and turn.why_not is None else None)
            for turn in turns
        ]
    if as_json:
        click.echo(json.dumps({"session": session_id, "turns": report}))
    else:
        for turn in report:
            _print_turn(turn)
    if any(turn["failed"] for turn in report):
        sys.exit(1)
    sys.exit(_FROM_THE_RECORD if any(turn["not_recomputed"] for turn in report) else 0)


def _play_under(
    found: Trajectory, shown: Sequence[Shown], profile: Profile, seed: int | None, as_json: bool
) -> None:
    try:
        live = make_other_session(found, profile, seed)
    except ValueError as error:
        raise _unreadable(found.session.id, error) from error
    turns = list(play(live, found, shown))
    if as_json:
        click.echo(json.dumps(to_json(found.session.id, live.plan, turns)))
    else:
        for line in render(live.plan, turns):
            click.echo(line)


def _unreadable(session_id: str, error: ValueError) -> click.ClickException:
    return click.ClickException(f"session {session_id!r}: its plan can't be read: {error}")


def _report(replayed: ReplayedTurn, answer: ReplayedAnswer | None) -> dict[str, Any]:
    turn = replayed.turn
    received, sent = (view.bytes() if view else b"" for view in (turn.received, turn.sent))
    recomputed = [] if replayed.sent is None else compare(sent, replayed.sent)
    report: dict[str, Any] = {
        "turn": turn.index,
        "attempt": turn.attempt,
        "protocol": turn.protocol,
        "outcome": "not replayable" if replayed.why_not else "same" if replayed.same else "differs",
        "why_not": replayed.why_not,
        "by_recorded_draws": replayed.by_recorded_draws,
        "not_recomputed": [one._asdict() for one in replayed.not_recomputed],
        "injected": [event.operator for event in replayed.events if event.after is not None],
        "received_to_sent": [one._asdict() for one in compare(received, sent)],
        "sent_to_recomputed": [one._asdict() for one in recomputed],
        "failed": replayed.why_not is None and not replayed.same,
    }
    if answer is not None:
        differences = [one._asdict() for one in answer.differences]
        report["answer"] = {"status": answer.status, "error": answer.error, "differences": differences}
        report["failed"] |= answer.error is not None
    return report


def _print_turn(turn: dict[str, Any]) -> None:
    attempt = f", attempt {turn['attempt']}" if turn["attempt"] else ""
    outcome = {"same": "as it was sent", "differs": "DIFFERS from what was sent"}.get(turn["outcome"])
    how = " (by its recorded draws: this version draws otherwise)" if turn["by_recorded_draws"] else ""
    click.echo(f"turn {turn['turn']}{attempt}: {outcome or 'not replayable: ' + turn['why_not']}{how}")
    for operator, why in dict.fromkeys((one["operator"], one["why"]) for one in turn["not_recomputed"]):
        click.echo(f"  taken from the record: {operator}, {why}")
    for title, name in (("received, sent", "received_to_sent"), ("sent, recomputed", "sent_to_recomputed")):
        _print_differences(title, turn[name])
    if "answer" in turn:
        answer = turn["answer"]
        same = "the same answer" if not answer["differences"] else "another answer"
        click.echo(f"  against the upstream: {answer['error'] or same}")
        _print_differences("recorded, now", answer["differences"])


def _print_differences(title: str, found: list[dict[str, Any]]) -> None:
    for one in found:
        click.echo(f"  {title} at {one['path'] or 'the whole body'}:")
        click.echo(f"    - {_short(one['before'])}")
        click.echo(f"    + {_short(one['after'])}")


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text)} characters)"
