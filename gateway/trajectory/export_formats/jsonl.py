"""The record itself as JSON lines, one session a line.

A line is {session, dose, turns, events, ledger, names, rewards}. The fields are the record's. Bodies are the
exact text of each view, or {"base64": ...} where they are no UTF-8; prompt token ids are a list; `entropy` is
a turn's mean per sampled token, in nats, with how it was estimated. Times are microseconds, UTC.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any, BinaryIO

from msgspec import structs, to_builtins

from crosswind.gateway.trajectory.content import Chain, View, unpack
from crosswind.gateway.trajectory.dose import read_dose
from crosswind.gateway.trajectory.export_format import Selection, export_format
from crosswind.gateway.trajectory.likelihood import turn_entropy
from crosswind.gateway.trajectory.record import Trajectory, Turn
from crosswind.gateway.trajectory.store import Store


@export_format("jsonl")
def write_jsonl(selection: Selection, out: BinaryIO) -> None:
    """All that is recorded, both views included."""
    for trajectory in selection.trajectories():
        out.write(json.dumps(_session_document(selection.store, trajectory)).encode() + b"\n")


def _session_document(store: Store, found: Trajectory) -> dict[str, Any]:
    session_id = found.session.id
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
