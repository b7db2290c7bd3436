"""Records as JSON for the API: times in RFC 3339, bodies as text, token ids as numbers."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime
from typing import Any

from fastapi import Response
from msgspec import structs, to_builtins
from pydantic_core import to_jsonable_python

from crosswind.gateway.trajectory.content import Chain, View, unpack
from crosswind.gateway.trajectory.dose import read_dose
from crosswind.gateway.trajectory.likelihood import turn_entropy
from crosswind.gateway.trajectory.record import Event, Session, Trajectory, Turn

_TIMES = {"created_us": "created", "closed_us": "closed"}


def format_time(time_us: int | None) -> str | None:
    if time_us is None:
        return None
    return (
        datetime.fromtimestamp(time_us / 1e6, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    )


def describe_row(row: Session | Event | Turn) -> dict[str, Any]:
    """A record as JSON data under its field names, with times in RFC 3339."""
    out: dict[str, Any] = {}
    for name, value in structs.asdict(row).items():
        if name in _TIMES:
            out[_TIMES[name]] = format_time(value)
        elif isinstance(value, View):
            out[name] = value.as_json()
        elif isinstance(value, Chain):
            out[name] = unpack("i", value.bytes())
        elif name == "completions":
            out[name] = [dataclasses.asdict(completion) for completion in value]
        elif name in ("error", "inner"):
            out[name] = to_builtins(value)
        else:
            out[name] = value
    return out


def make_json_response(data: dict[str, Any]) -> Response:
    """Encode JSON in ASCII: texts of traffic may hold lone surrogates, which UTF-8 can't encode."""
    text = json.dumps(data, default=to_jsonable_python, separators=(",", ":"))
    return Response(text.encode(), media_type="application/json")


def describe_trajectory(found: Trajectory) -> dict[str, Any]:
    return {
        "session": describe_row(found.session),
        "dose": read_dose(found).to_json(),
        "turns": [describe_row(turn) | {"entropy": _describe_entropy(turn)} for turn in found.turns],
        "events": [describe_row(event) for event in found.events],
    }


def _describe_entropy(turn: Turn) -> dict[str, Any] | None:
    found = turn_entropy(turn.completions)
    return None if found is None else dataclasses.asdict(found)
