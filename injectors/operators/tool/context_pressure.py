"""Bulk beside a tool's answer, so that what matters is crowded out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.insertion import (
    Case,
    around_field,
    around_line,
    dump,
    find_case,
    find_holders,
    insert,
    is_plain_text,
    write_key,
)
from crosswind.injectors.operators.phrases import find_system
from crosswind.injectors.operators.words.diagnostics import (
    COMMANDS,
    HOLDERS,
    PAGES,
    write_diagnostics,
    write_exchange,
    write_login,
    write_page,
)
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, ToolResultTarget
from crosswind.injectors.text.json_payload import parse_json

VOLUME = 6_000
"""Characters at severity 1: some 1,500 tokens in each result that is hit."""

ROOM, TIMES = 150, 4
"""At severity 1/2 a result gets at most 150 characters and four times its own length."""


@operator(
    "tool.context_pressure",
    site=Site.TOOL_RESULT,
    recovery=Recovery.IGNORE,
    source="RobustBench-TC, appendix N (3), named there as future work; the form is ours",
    effect=Effect.ADDS,
    version=7,
)
class ContextPressure:
    """A result carries what its system says at length, so that the conversation grows and what matters is
    crowded out.

    Severity s: 6,000 x s characters, up to the end of what is begun, in every result that is hit; the profile
    says how often that is. Below severity 1 they are in proportion to the result: at most 150 characters and
    four times its length, x s / (1 - s). A JSON object gets one field with the diagnostics of its call: the
    exchange's headers, the spans of its trace, the shape of the answer, recent calls; a command's
    environment, limits and usage. Their times and sizes agree with one another and with the answer. A
    command's text gets a login's banner above it, a page's text its navigation and footer around it, and
    other text the headers of its exchange above it. Every true value keeps its bytes; other JSON is left
    alone.
    """

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        text, size = target.text, _measure(len(target.text), severity)
        value = parse_json(text)
        if size <= 0:
            return None
        if is_plain_text(value, text):
            return {"added": _draw_around(target, rng, size)}
        holders = find_holders(text) if isinstance(value, dict) else ()
        if not holders:
            return None
        case, whole = find_case(text), holders[0]
        key = next((one for one in rng.shuffled(HOLDERS) if write_key(one, case) not in whole.keys), None)
        if key is None:
            return None
        place = around_field(text, whole.gaps[-1 if rng.chance(0.8) else 0], write_key(key, case))
        command = not find_system(target).tools.isdisjoint(COMMANDS)
        told = write_diagnostics(target, rng, size, command=command)
        content = dump(
            {write_key(name, case): _name_as(one, case, name) for name, one in told.items()}, like=text
        )
        return {"added": [[place.at, place.before, content, place.after]]}

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        added: list[list[Any]] = draw["added"]
        count = sum(len(content) for _, _, content, _ in added)
        note = f"{count} characters of diagnostics were added to the result of {target.tool}."
        return Result(insert(target.text, added), note)


def _draw_around(target: ToolResultTarget, rng: SeededRandom, size: int) -> list[list[Any]]:
    """What stands around a text: a login's banner, a page, or the head of a response."""
    words = find_system(target).tools
    if not words.isdisjoint(COMMANDS):
        return [[0, "", write_login(rng, target.branch.half, size), "\n"]]
    if words.isdisjoint(PAGES):
        return [[0, "", write_exchange(target, rng, size), "\n\n"]]
    above, below = write_page(rng, target.branch.half, size)
    end = around_line(target.text, len(target.text))
    return [[0, "", above, "\n\n"], [end.at, end.before, below, end.after]]


def _measure(length: int, severity: float) -> int:
    """How many characters a result of this length gets."""
    most = VOLUME if severity >= 1 else min(VOLUME, (ROOM + TIMES * length) / (1 - severity))
    return round(severity * most)


def _name_as(value: Any, case: Case, part: str) -> Any:
    """A part of the diagnostics with its names as the result writes them; headers and variables keep theirs,
    and so do the answer's own fields in its shape."""
    if part in ("headers", "environment", "shape"):
        return value
    if isinstance(value, list):
        return [_name_as(one, case, part) for one in value]
    if isinstance(value, Mapping):
        return {write_key(name, case): _name_as(one, case, part) for name, one in value.items()}
    return value
