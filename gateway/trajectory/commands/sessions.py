"""`crosswind sessions`: what the sessions of a store said and saw."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import click
from rich.console import Console

from crosswind.gateway.control_characters import escape_control_characters, escape_within_lines
from crosswind.gateway.counts import count
from crosswind.gateway.trajectory.commands.session_text import describe_session
from crosswind.gateway.trajectory.commands.store_option import open_named, store_option
from crosswind.gateway.trajectory.content import View
from crosswind.gateway.trajectory.conversations import read_first_message
from crosswind.gateway.trajectory.dose import read_dose
from crosswind.gateway.trajectory.record import Event, Session, Trajectory, Turn
from crosswind.gateway.trajectory.timeline import describe_on_wire, is_on_wire, order_by_time
from crosswind.injectors.cli.rendering import fold, render_event, render_heading


@click.group(
    short_help="Look at a store's sessions.",
    epilog="""\b
Examples:
  crosswind sessions list
  crosswind sessions show s-1 --turn 2
""",
)
def sessions() -> None:
    """Look at the sessions of a trajectory store, also while a gateway writes to it."""


@sessions.command(
    "list",
    short_help="The newest sessions.",
    epilog="""\b
Examples:
  crosswind sessions list --limit 5
  crosswind sessions list --group train-0-00012 --json
""",
)
@store_option
@click.option("--group", "group_id", help="The sessions of this group only.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def list_command(url: str, group_id: str | None, limit: int, as_json: bool) -> None:
    """List sessions, the last to arrive first: when each began, its turns, and what its user said first."""
    with open_named(url) as store:
        found = [
            (one, len({turn.index for turn in turns}), read_first_message(turns))
            for one in store.sessions(group_id=group_id, limit=limit)
            for turns in [store.turns(one.id)]
        ]
    if as_json:
        listed = [{**_session(one), "turns": turns, "first_message": said} for one, turns, said in found]
        click.echo(json.dumps({"sessions": listed}))
        return
    if not found:
        click.echo(
            f"{url} has no session" + ("" if group_id is None else f" of group {group_id!r}"), err=True
        )
    console = Console()
    for one, turns, said in found:
        line = escape_control_characters(_list_line(one, turns, said))
        click.echo(fold(line, console) if console.is_terminal else line)


@sessions.command(
    short_help="A session, turn by turn.",
    epilog="""\b
Examples:
  crosswind sessions show s-1
  crosswind sessions show s-1 --turn 2 --json
  crosswind sessions show s-1 --diff
""",
)
@click.argument("session_id", metavar="SESSION")
@store_option
@click.option("--turn", "index", type=int, help="This turn only.")
@click.option("--diff", is_flag=True, help="Show only the texts that noise changed, before and after.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def show(session_id: str, url: str, index: int | None, diff: bool, as_json: bool) -> None:
    """Print what the agent sent, what the policy saw and produced, what the agent got, and the noise.

    Messages that the turn before had are counted; --turn and --json show all of them."""
    with open_named(url) as store:
        found = store.trajectory(session_id)
    if found is None:
        problem = f"{url} has no session {session_id!r}; `crosswind sessions list` names them"
        raise click.ClickException(problem)
    turns = [turn for turn in found.turns if index in (None, turn.index)]
    if index is not None and not turns:
        problem = f"session {session_id!r} has no turn {index}; it has {count(len(found.turns), 'turn')}"
        raise click.ClickException(problem)
    documents = [_turn(turn, found.events, whole=not diff) for turn in turns]
    calls = [describe_on_wire(one) for one in found.events if is_on_wire(one)] if index is None else []
    if as_json:
        dose = read_dose(found).to_json()
        document = {"session": _session(found.session), "dose": dose, "turns": documents, "tool_leg": calls}
        click.echo(json.dumps(document))
        return
    if diff:
        _print_changes(found, index)
        return
    click.echo(f"session {found.session.id}: {_describe(found.session)}")
    for line in describe_session(found, documents, on_wire=index is None):
        click.echo(escape_control_characters(line))


def _print_changes(found: Trajectory, index: int | None) -> None:
    """What noise changed, in the order of time. Long texts are shown around their changes."""
    console = Console(highlight=False)
    changes = list(_find_changes(found, index))
    for heading, event in changes:
        texts = (event.before or "", event.after, event.note)
        console.print(render_heading(escape_control_characters(heading)))
        console.print(render_event(*(escape_within_lines(str(text)) for text in texts)))
    if not changes:
        click.echo("noise changed nothing", err=True)


def _find_changes(found: Trajectory, index: int | None) -> Iterator[tuple[str, Event]]:
    """The events of noise that acted, each with its place: in this turn, or in all and on the wire."""
    for one in order_by_time(found):
        if isinstance(one, Event):
            place, events = f"on the wire to {describe_on_wire(one)['link']}", [one] if index is None else []
        else:
            attempt = f", attempt {one.attempt}" if one.attempt else ""
            place, events = f"turn {one.index}{attempt}", _events_of(one, found.events)
            events = events if index in (None, one.index) else []
        for event in events:
            if event.after is not None:
                yield f"{place}: {event.operator}{f', {event.tool}' if event.tool else ''}", event


def _events_of(turn: Turn, events: Sequence[Event]) -> list[Event]:
    return [one for one in events if (one.turn_index, one.attempt) == (turn.index, turn.attempt)]


def _session(found: Session) -> dict[str, Any]:
    return {
        "id": found.id,
        "created_us": found.created_us,
        "arm": found.arm,
        "profile": found.plan.get("profile"),
        "task_id": found.task_id,
        "group_id": found.group_id,
        "status": found.status,
        "reward_state": found.reward_state,
        "reward": found.reward,
        "quarantine": found.quarantine,
    }


def _turn(turn: Turn, events: Sequence[Event], *, whole: bool) -> dict[str, Any]:
    """A turn, with its bodies if it is to be shown whole."""
    return {
        "turn": turn.index,
        "attempt": turn.attempt,
        "model": turn.model,
        "fitness": turn.fitness,
        "stream": turn.stream,
        "delivered": turn.delivered,
        "upstream_status": turn.upstream_status,
        "error": None if turn.error is None else {"source": turn.error.source, "type": turn.error.kind},
        **(_bodies(turn) if whole else {}),
        "noise": [
            {
                "operator": event.operator,
                "outcome": _outcome(event),
                "tool": event.tool,
                "before": event.before,
                "after": event.after,
                "note": event.note,
            }
            for event in _events_of(turn, events)
        ],
    }


def _bodies(turn: Turn) -> dict[str, Any]:
    return {
        "agent_sent": _body(turn.received),
        "policy_saw": _body(turn.sent),
        "policy_produced": _body(turn.produced),
        "agent_got": _body(turn.delivered_view or turn.produced),
    }


def _outcome(event: Event) -> str:
    if event.after is not None:
        return "injected"
    return "withheld" if event.withheld else "no noise"


def _body(view: View | None) -> Any:
    return None if view is None else view.as_json()


_SHOWN = 60
"""Characters of a first message that a list shows."""


def _list_line(found: Session, turns: int, first_message: str) -> str:
    began = datetime.fromtimestamp(found.created_us // 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    said = " ".join(first_message.split())
    said = said if len(said) <= _SHOWN else f"{said[: _SHOWN - 1]}…"
    return f"{found.id}  {began}  {count(turns, 'turn')}, {_describe(found)}" + (f": {said}" if said else "")


def _describe(found: Session) -> str:
    reward = f", reward {found.reward:g}" if found.reward is not None else f", reward {found.reward_state}"
    return f"{found.arm}, profile {found.plan.get('profile')}, {found.status}{reward}"
