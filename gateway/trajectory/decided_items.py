"""The items of a session that noise was decided on, counted. Reading a store needs these and no operator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from crosswind.gateway.trajectory.ledger_rows import Shown
from crosswind.gateway.trajectory.record import Event
from crosswind.gateway.trajectory.timeline import is_on_wire
from crosswind.injectors.conversation import Site

_TEXTS = (Site.USER_TEXT.value, Site.TOOL_RESULT.value, Site.INSTRUCTIONS.value)


class _Decided(msgspec.Struct):
    """Of a list of tools on record, the tools that were decided on."""

    decided: list[str] = []


def count_items(shown: Iterable[Shown], turns: int, events: Iterable[Event]) -> Mapping[str, int]:
    """The items of each site that noise was decided on: of the ledger's rows, of so many turns, and of the
    calls on tool legs among the events.

    Tools are missing where the ledger's texts were erased. A text with a secret has no row, but its events.
    """
    events = list(events)
    calls = sum(map(_is_call, events))
    texts: Counter[str] = Counter(dict.fromkeys(_TEXTS, 0))
    known_texts: set[str] = set()
    tools: int | None = 0
    for row in shown:
        if row.site in texts:
            texts[row.site] += 1
            known_texts.add(row.anchor)
        elif row.site == Site.TOOL_SCHEMA:
            # Each row names all tools that were decided on up to then.
            tools = None if row.text is None else len(msgspec.json.decode(row.text, type=_Decided).decided)
    for event in events:
        if event.site in texts and event.anchor not in known_texts and not is_on_wire(event):
            texts[event.site] += 1
            known_texts.add(event.anchor)
    known = {} if tools is None else {Site.TOOL_SCHEMA.value: tools}
    # Turns report most results of a tool leg's calls, so that the ledger has rows for both.
    texts[Site.TOOL_RESULT.value] = max(texts[Site.TOOL_RESULT.value], calls)
    return {**texts, **known, Site.MODEL_RESPONSE.value: turns, Site.TRANSPORT.value: turns + calls}


def _is_call(event: Event) -> bool:
    """Whether an event says what became of a call on a tool leg, which a server was to get."""
    return is_on_wire(event) and not event.slot and event.draw.get("outcome") != "inside"
