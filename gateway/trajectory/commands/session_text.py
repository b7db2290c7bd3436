"""A session as text, turn by turn: what each turn brought, and what noise it had."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any

from crosswind.gateway.counts import count
from crosswind.gateway.trajectory.dose import read_dose
from crosswind.gateway.trajectory.fitness import Source
from crosswind.gateway.trajectory.record import Delivered, Event, Trajectory
from crosswind.gateway.trajectory.timeline import describe_on_wire, order_by_time
from crosswind.injectors.engine.dose import SessionDose

_VIEWS = (
    ("agent sent", "agent_sent", None),
    ("policy saw", "policy_saw", "agent_sent"),
    ("policy produced", "policy_produced", None),
    ("agent got", "agent_got", "policy_produced"),
)
"""What is printed of a turn, and the view that it isn't repeated after."""
_ASKED = ("agent_sent", "policy_saw")
"""The views that go on from those of the turn before."""


def describe_session(found: Trajectory, turns: Sequence[dict[str, Any]], *, on_wire: bool) -> Iterator[str]:
    """The lines about these turns of a session, what noise they had, and the calls on its tool legs."""
    yield from _dose_lines(read_dose(found))
    before: dict[str, Any] = {}
    documents = {(turn["turn"], turn["attempt"]): turn for turn in turns}
    for one in order_by_time(found):
        if isinstance(one, Event):
            if on_wire:
                yield _wire_line(describe_on_wire(one))
        elif (turn := documents.get((one.index, one.attempt))) is not None:
            yield from _turn_lines(turn, before)
            before = turn


def _wire_line(call: dict[str, Any]) -> str:
    attempt = f", attempt {call['attempt']}" if call["attempt"] else ""
    operator = f"{call['operator']}: " if call["operator"] != "call" else ""
    return f"  on the wire to {call['link']}{attempt}: {call['outcome']}: {operator}{call['note']}"


def _turn_lines(turn: dict[str, Any], before: dict[str, Any]) -> Iterator[str]:
    attempt = f", attempt {turn['attempt']}" if turn["attempt"] else ""
    error = f", failed: {turn['error']['source']} {turn['error']['type']}" if turn["error"] else ""
    yield ""
    yield f"turn {turn['turn']}{attempt}: {turn['model']}, {turn['fitness']}{error}"
    for title, name, other in _VIEWS:
        same = other is not None and turn[name] == turn[other]
        shown = "the same" if same else _shorten(turn[name], before.get(name) if name in _ASKED else None)
        yield f"  {title}: {_tell_failure(turn, shown) if name == 'agent_got' else shown}"
    for event in turn["noise"]:
        yield f"  {event['outcome']}: {event['operator']}: {event['note']}"


def _dose_lines(dose: SessionDose) -> Iterator[str]:
    """What the session was assigned, and how far each operator's noise got."""
    if dose.exposure is None:
        return
    level = "" if dose.level is None else f" at level {dose.level}"
    chosen = "" if dose.allowed_types is None else f", of {len(dose.allowed_types)} types that it allowed"
    yield f"assigned {dose.noise_type or 'all of its profile'}{level}{chosen}: {dose.exposure}"
    for name, one in dose.operators.items():
        eligible = "–" if one.eligible is None else one.eligible
        yield (
            f"  {name}: eligible {eligible}, decided {one.decided}, injected {one.injected}, "
            f"withheld {one.withheld}"
        )


def _tell_failure(turn: dict[str, Any], shown: str) -> str:
    """What the agent got, where the exchange broke off: more than an answer, or another thing."""
    error = turn["error"]
    if error is None or error["type"].startswith("status_") or turn["delivered"] == Delivered.YES:
        return shown
    if error["source"] == Source.CLIENT:
        return f"{shown}, up to where it hung up"
    if error["source"] not in (Source.UPSTREAM, Source.OURS):
        return shown
    if turn["stream"] and turn["policy_produced"] is not None:
        return f"{shown}, then an error event ({error['type']}), or a cut connection where none can be added"
    return f"an error ({error['type']})"


_ITEMS = {"messages": "message", "tools": "tool"}


def _shorten(body: Any, before: Any) -> str:
    """A body as text. Of a list of messages or tools, what the body before it began with is counted."""
    new, old = _read(body), _read(before)
    if not new or not old:
        return "not recorded" if body is None else body if isinstance(body, str) else json.dumps(body)
    members = (f"{_write(name)}:{_shorten_list(name, value, old.get(name))}" for name, value in new.items())
    return f"{{{','.join(members)}}}"


def _read(body: Any) -> dict[str, Any]:
    try:
        found = json.loads(body) if isinstance(body, str) else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _write(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _shorten_list(name: str, value: Any, before: Any) -> str:
    if not isinstance(value, list) or not isinstance(before, list):
        return _write(value)
    pairs = zip(value, before, strict=False)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1] and isinstance(pair[0], dict), pairs))
    if not same:
        return _write(value)
    counted = f"… {count(same, _ITEMS.get(name, 'item'))} as before"
    return f"[{','.join([counted, *map(_write, value[same:])])}]"
