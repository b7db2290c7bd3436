"""What becomes of observations in users' messages: the audit's own reading."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from crosswind.gateway.trajectory.record import Event
from crosswind.studies.audit import values
from crosswind.studies.audit.reading import AuditedSession, Found


def check_observations(audited: AuditedSession) -> Found:
    """An observation in a user's message says all that it said, and the rest of the message is as it was."""
    for piece in audited.user_texts():
        for event in () if piece.masked else piece.events:
            parts = event.draw.get("observations")
            if parts and (what := _find_break(event, parts)) is not None:
                yield event, event.turn_index, what


def _find_break(event: Event, parts: list[dict[str, Any]]) -> str | None:
    before, after = event.before, str(event.after)
    if "place" in parts[0]:
        return _find_break_in_json(before, after, [part["place"] for part in parts])
    spans = [(start, stop) for start, stop in (part["at"] for part in parts)]
    first = spans[0][0]
    if not after.startswith(before[:first]):
        return "what the user says before an observation was changed"
    at = first
    for (start, stop), (following, _) in zip(spans, [*spans[1:], (len(before), 0)], strict=True):
        ends = _ends(after, at, before[stop:following], last=following == len(before))
        kept = next((end for end in ends if values.keeps(before[start:stop], after[at:end])), None)
        if kept is None:
            return "an observation lost what it said, or what the user says behind it was changed"
        at = kept + following - stop
    return None


def _ends(after: str, at: int, behind: str, *, last: bool) -> Iterator[int]:
    """Where an observation that begins at a place may end: where what stands behind it is found."""
    if last:
        if len(after) - len(behind) >= at and after.endswith(behind):
            yield len(after) - len(behind)
        return
    found = after.find(behind, at)
    while found >= 0:
        yield found
        found = after.find(behind, found + 1)


def _find_break_in_json(before: str, after: str, places: list[list[Any]]) -> str | None:
    try:
        was, now = json.loads(before), json.loads(after)
        for place in places:
            true, shown = _take_out(was, place), _take_out(now, place)
            if not values.keeps(_text(true), _text(shown)):
                return "an observation lost what it said"
    except (ValueError, RecursionError, LookupError, TypeError):
        return "its message can't be read any more"
    return None if was == now else "what the user says beside an observation was changed"


def _take_out(value: Any, place: list[Any]) -> Any:
    """The value at the place, which holds none from then on."""
    for key in place[:-1]:
        value = value[key]
    taken, value[place[-1]] = value[place[-1]], None
    return taken


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
