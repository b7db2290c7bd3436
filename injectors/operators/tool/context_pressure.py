"""Bulk beside a tool's answer, so that what matters is crowded out."""

from __future__ import annotations

from typing import Any

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.insertion import (
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
    write_diagnostics,
    write_login,
    write_page,
)
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, ToolResultTarget
from crosswind.injectors.text.json_payload import parse_json

VOLUME = 6_000
"""Characters at severity 1: some 1,500 tokens in each result that is hit."""


@operator(
    "tool.context_pressure",
    site=Site.TOOL_RESULT,
    recovery=Recovery.IGNORE,
    source="RobustBench-TC, appendix N (3), named there as future work; the form is ours",
    effect=Effect.ADDS,
    version=3,
)
class ContextPressure:
    """A result carries what its system says at length, so that the conversation grows and what matters is
    crowded out.

    Severity: 6,000 x severity characters, up to the end of what is begun, in every result that is hit; the
    profile says how often that is. A JSON object gets one field with the diagnostics of its call: the
    exchange's headers, the spans of its trace, the shape of the answer, recent calls. Their times and sizes
    agree with one another and with the answer. A command's text gets a login's banner above it, and other
    text a page's navigation and footer around it. Every true value keeps its bytes; other JSON is left alone.
    """

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        text, size = target.text, round(VOLUME * severity)
        value = parse_json(text)
        if size <= 0:
            return None
        if is_plain_text(value, text):
            if not find_system(target).tools.isdisjoint(COMMANDS):
                return {"added": [[0, "", write_login(rng, target.branch.half, size), "\n"]]}
            above, below = write_page(rng, target.branch.half, size)
            end = around_line(text, len(text))
            return {"added": [[0, "", above, "\n\n"], [end.at, end.before, below, end.after]]}
        holders = find_holders(text) if isinstance(value, dict) else ()
        if not holders:
            return None
        case, whole = find_case(text), holders[0]
        key = next((one for one in rng.shuffled(HOLDERS) if write_key(one, case) not in whole.keys), None)
        if key is None:
            return None
        place = around_field(text, whole.gaps[-1 if rng.chance(0.8) else 0], write_key(key, case))
        told = write_diagnostics(target, rng, size)
        content = dump({write_key(name, case): one for name, one in told.items()}, like=text)
        return {"added": [[place.at, place.before, content, place.after]]}

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        added: list[list[Any]] = draw["added"]
        count = sum(len(content) for _, _, content, _ in added)
        note = f"{count} characters of diagnostics were added to the result of {target.tool}."
        return Result(insert(target.text, added), note)
