"""How a counterfactual replay is shown: as text that is folded, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from textwrap import fill
from typing import Any

from crosswind.gateway.columns import find_width
from crosswind.gateway.trajectory.record import Event
from crosswind.injectors.engine.plan import Plan
from crosswind.studies.replay.counterfactual import CounterfactualTurn

_INDENT = 6
"""Columns of a line that shows a text, before it."""
_BEFORE = 20
"""How many characters of a longer text stand before the place where it differs."""


def render(plan: Plan, turns: Sequence[CounterfactualTurn]) -> Iterator[str]:
    """The lines of a text: one a turn, below it what is decided otherwise, and where the replay ends."""
    level = "" if plan.level is None else f", level {plan.level}"
    nothing = "" if plan.rules else ": it gives this session no noise"
    yield _wrap(f"profile {plan.profile}{level}, seed {plan.seed}{nothing}", 0)
    for one in turns:
        yield _wrap(f"{_name(one)}: {one.ends or 'as recorded'}", 0)
        for title, events in (("injected", one.injected), ("in the recording only", one.recorded)):
            for event in events:
                yield from _render_injection(title, event)
        for event in one.withheld:
            yield _wrap(f"{event.operator}: {event.note}", 2)
    yield _wrap(_render_end(turns), 0)


def to_json(session: str, plan: Plan, turns: Sequence[CounterfactualTurn]) -> dict[str, Any]:
    """The same as one document. `ends` is null where the recording answers all turns."""
    ended = [one for one in turns if one.ends is not None]
    return {
        "session": session,
        "profile": plan.profile,
        "level": plan.level,
        "seed": plan.seed,
        "turns": [
            {
                "turn": one.turn.index,
                "attempt": one.turn.attempt,
                "protocol": one.turn.protocol,
                "answered": one.ends is None,
                "injected": [_describe(event) for event in one.injected],
                "withheld": [_describe(event) for event in one.withheld],
                "recorded_only": [_describe(event) for event in one.recorded],
            }
            for one in turns
        ],
        "ends": next(
            ({"turn": one.turn.index, "attempt": one.turn.attempt, "why": one.ends} for one in ended), None
        ),
    }


def _describe(event: Event) -> dict[str, Any]:
    return {name: getattr(event, name) for name in ("operator", "site", "tool", "before", "after", "note")}


def _name(one: CounterfactualTurn) -> str:
    return f"turn {one.turn.index}" + (f", attempt {one.turn.attempt}" if one.turn.attempt else "")


def _render_injection(title: str, event: Event) -> Iterator[str]:
    tool = f", {event.tool}" if event.tool else ""
    yield _wrap(f"{title}: {event.operator}{tool}", 2)
    before, after = _cut(event.before, event.after or "")
    if before:
        yield f"    - {before}"
    yield f"    + {after}"


def _render_end(turns: Sequence[CounterfactualTurn]) -> str:
    if turns and turns[-1].ends is not None:
        return f"ends at {_name(turns[-1])}: {turns[-1].ends}"
    count = len({one.turn.index for one in turns})
    if count == 0:
        return "the session has no turns"
    return f"{f'all {count} turns are' if count > 1 else 'its 1 turn is'} answered by the recording"


def _wrap(text: str, indent: int) -> str:
    return fill(text, find_width(), initial_indent=" " * indent, subsequent_indent=" " * (indent + 2))


def _cut(*texts: str) -> list[str]:
    """Each text on one line, with what stands shortly before the place from which on they differ."""
    lines = [" ".join(text.split()) for text in texts]
    start = max(0, _count_shared(lines) - _BEFORE)
    if start == 0 or max(map(len, lines)) <= find_width() - _INDENT:
        return [_cut_end(line) for line in lines]
    return [_cut_end(f"...{line[start:]}") for line in lines]


def _count_shared(lines: Sequence[str]) -> int:
    """How many characters all lines begin with."""
    return sum(1 for _ in takewhile(lambda each: len(set(each)) == 1, zip(*lines, strict=False)))


def _cut_end(line: str) -> str:
    most = find_width() - _INDENT
    return line if len(line) <= most else f"{line[: most - 3]}..."
