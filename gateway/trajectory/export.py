"""`crosswind export`: a store's trajectories as JSON lines, one session a line.

A line is {session, dose, turns, events, ledger, names, rewards}. The fields are the record's. Bodies are the
exact text of each view, or {"base64": ...} where they are no UTF-8; prompt token ids are a list; `entropy` is
a turn's mean per sampled token, in nats, with how it was estimated. Times are microseconds, UTC.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
from pathlib import Path
from typing import IO, Any

import click
from msgspec import structs, to_builtins

from crosswind.gateway.trajectory.content import Chain, View, unpack
from crosswind.gateway.trajectory.dose import read_dose
from crosswind.gateway.trajectory.likelihood import turn_entropy
from crosswind.gateway.trajectory.record import Turn
from crosswind.gateway.trajectory.store import Store, iterate_sessions
from crosswind.gateway.trajectory.store_option import open_named, store_argument


@click.command(
    short_help="Write trajectories as JSON lines.",
    epilog="""\b
Examples:
  crosswind export --out trajectories.jsonl
  crosswind export --store backup.db --session s-1 | head -c 400
""",
)
@store_argument
@click.option("--format", "form", type=click.Choice(["jsonl"]), default="jsonl", show_default=True)
@click.option("--session", "session_id", help="This session only.")
@click.option("--group", "group_id", help="The sessions of this group only, by rollout index.")
@click.option("--out", default="-", show_default=True, help="The file to write, or - for standard output.")
def export(url: str, form: str, session_id: str | None, group_id: str | None, out: str) -> None:
    """Write the trajectories of a store, one session a line, oldest first.

    STORE may be given as an argument instead of --store.
    """
    if session_id and group_id:
        raise click.UsageError("--session and --group exclude each other; give one of them")
    with open_named(url) as opened:
        ids = _sessions(opened, session_id, group_id)
        if not ids and (session_id or group_id):
            wanted = f"session {session_id!r}" if session_id else f"group {group_id!r}"
            raise click.ClickException(f"{url} has no {wanted}; check its id")
        _write(opened, ids, out)


def _sessions(store: Store, session_id: str | None, group_id: str | None) -> list[str]:
    if session_id:
        return [session_id] if store.session(session_id) else []
    found = [*iterate_sessions(store, group_id=group_id)][::-1]
    if group_id:
        found.sort(key=lambda session: (session.rollout_index is None, session.rollout_index))
    return [session.id for session in found]


def _write(store: Store, ids: list[str], out: str) -> None:
    try:
        with contextlib.ExitStack() as stack:
            file: IO[str] = sys.stdout
            if out != "-":
                file = stack.enter_context(Path(out).open("w", encoding="utf-8"))
            # Another process may have written sessions while the ids were listed: each goes out once.
            for session_id in dict.fromkeys(ids):
                if line := _session_document(store, session_id):
                    file.write(json.dumps(line) + "\n")
    except OSError as error:
        raise click.ClickException(str(error)) from error


def _session_document(store: Store, session_id: str) -> dict[str, Any] | None:
    """The JSON document of a session; None if it was deleted meanwhile."""
    found = store.trajectory(session_id)
    if found is None:
        return None
    return {
        "session": structs.asdict(found.session),
        "dose": read_dose(found).to_json(),
        "turns": [_turn_document(turn) for turn in found.turns],
        "events": [structs.asdict(event) for event in found.events],
        "ledger": [structs.asdict(shown) for shown in store.ledger(session_id)],
        "names": [structs.asdict(name) for name in store.names(session_id)],
        "rewards": [structs.asdict(reward) for reward in store.rewards(session_id)],
    }


def _turn_document(turn: Turn) -> dict[str, Any]:
    exported = structs.asdict(turn)
    for name, value in exported.items():
        if isinstance(value, View):
            exported[name] = value.as_json()
        elif isinstance(value, Chain):
            exported[name] = unpack("i", value.bytes())
    exported |= {name: to_builtins(exported[name]) for name in ("error", "inner")}
    exported["completions"] = [dataclasses.asdict(completion) for completion in turn.completions]
    entropy = turn_entropy(turn.completions)
    return exported | {"entropy": None if entropy is None else dataclasses.asdict(entropy)}
