"""A tool's answer in its verbose form, so that what matters is crowded out."""

from __future__ import annotations

from collections.abc import Iterator
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
from crosswind.injectors.operators.tool.verbose import Block, list_blocks
from crosswind.injectors.operators.words.diagnostics import PAGES, write_page
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.stacks.calls import find_kinds
from crosswind.injectors.stacks.model import ToolKind
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
    version=6,
)
class ContextPressure:
    """A result in its verbose form, so that the conversation grows and what matters is crowded out.

    Severity s: up to 6,000 x s characters in every result that is hit, as far as there is something to tell;
    the profile says how often that is. Below severity 1 they are in proportion to the result: at most 150
    characters and four times its length, x s / (1 - s). A JSON object gets fields behind its own: the types
    of its fields, its figures as people write them, the call's own arguments, statistics of its list, a
    table's columns, a folder's long listing, a calculation's steps, the tool's own description. A page's text
    gets its navigation and footer around it. Every true value keeps its bytes. Other JSON and other text are
    left alone.
    """

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        text, size = target.text, _measure(len(target.text), severity)
        value = parse_json(text)
        if size <= 0:
            return None
        if is_plain_text(value, text):
            return _draw_around(target, rng, size)
        holders = find_holders(text) if isinstance(value, dict) else ()
        if not holders:
            return None
        case, whole = find_case(text), holders[0]
        added: list[list[Any]] = []
        taken = set(whole.keys)
        for name, block in _choose(list_blocks(target, value, rng), size):
            key = write_key(name, case)
            if key not in taken:
                taken.add(key)
                place = around_field(text, whole.gaps[-1], key)
                added.append([place.at, place.before, dump(block, like=text), place.after])
        return {"added": added} if added else None

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        added: list[list[Any]] = draw["added"]
        count = sum(len(content) for _, _, content, _ in added)
        note = f"{count} characters of its verbose form were added to the result of {target.tool}."
        return Result(insert(target.text, added), note)


def _choose(blocks: list[Block], size: int) -> Iterator[Block]:
    """The blocks that there is room for; the shortest where there is room for none."""
    sizes = {name: len(dump(block, like="{}")) for name, block in blocks}
    fitting = False
    for name, block in blocks:
        if sizes[name] <= size:
            size -= sizes[name]
            fitting = True
            yield name, block
    if blocks and not fitting:
        yield min(blocks, key=lambda one: sizes[one[0]])


def _draw_around(target: ToolResultTarget, rng: SeededRandom, size: int) -> Draw | None:
    """What a page has around its text; None: the text is no page's."""
    kinds = find_kinds(target, "")
    if not kinds.isdisjoint((ToolKind.SHELL, ToolKind.SQL)):
        return None
    if ToolKind.WEB not in kinds and find_system(target).tools.isdisjoint(PAGES):
        return None
    above, below = write_page(rng, target.branch.half, size, target.text)
    end = around_line(target.text, len(target.text))
    return {"added": [[0, "", above, "\n\n"], [end.at, end.before, below, end.after]]}


def _measure(length: int, severity: float) -> int:
    """How many characters a result of this length gets."""
    most = VOLUME if severity >= 1 else min(VOLUME, (ROOM + TIMES * length) / (1 - severity))
    return round(severity * most)
