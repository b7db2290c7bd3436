"""Bulk beside a tool's answer, so that what matters is crowded out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crosswind.injectors.conversation import Site
from crosswind.injectors.guard.tool_evidence import words_of
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
from crosswind.injectors.operators.tool.history import tell_session, write_history, write_scrollback
from crosswind.injectors.operators.words.diagnostics import (
    COMMANDS,
    PAGES,
    write_client,
    write_login,
    write_page,
)
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
    version=5,
)
class ContextPressure:
    """A result carries what its system says at length, so that the conversation grows and what matters is
    crowded out.

    Severity s: up to 6,000 x s characters, and the end of what is begun, in every result that is hit; the
    profile says how often that is. Below severity 1 they are in proportion to the result: at most 150
    characters and four times its length, x s / (1 - s). They are of the kind that the result is. A JSON
    object gets one field: how its figures were before, what was done with its record, details of its
    list's items, its table's columns, or the session's own earlier calls and answers. A command's text gets
    the session's earlier commands above it, or a login's banner, a page's text its navigation and footer
    around it, and other text the session's earlier answers above it. Every true value keeps its bytes; other
    JSON is left alone, and text without anything earlier.
    """

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        text, size = target.text, _measure(len(target.text), severity)
        value = parse_json(text)
        if size <= 0:
            return None
        if is_plain_text(value, text):
            added = _draw_around(target, rng, size)
            return {"added": added} if added else None
        holders = find_holders(text) if isinstance(value, dict) else ()
        if not holders:
            return None
        case, whole = find_case(text), holders[0]
        name, rows = write_history(target, rng, size)
        key = write_key(name, case)
        if key in whole.keys:
            key = write_key(f"{name}_of_session", case)
        place = around_field(text, whole.gaps[-1 if rng.chance(0.85) else 0], key)
        content = dump([_name_as(one, case, frozenset(whole.keys)) for one in rows], like=text)
        return {"added": [[place.at, place.before, content, place.after]]}

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        added: list[list[Any]] = draw["added"]
        count = sum(len(content) for _, _, content, _ in added)
        note = f"{count} characters of what was before were added to the result of {target.tool}."
        return Result(insert(target.text, added), note)


def _draw_around(target: ToolResultTarget, rng: SeededRandom, size: int) -> list[list[Any]]:
    """What stands around a text: earlier commands or a login's banner, a page, or earlier answers."""
    if ToolKind.SHELL in (kinds := find_kinds(target, "")):
        lines = write_scrollback(target, rng, size)
        if lines and rng.chance(0.7):
            return [[0, "", "\n".join(lines), "\n"]]
        if not COMMANDS.isdisjoint(words_of(target.tool)):
            return [[0, "", write_login(rng, target.branch.half, size), "\n"]]
    if ToolKind.SQL in kinds:
        return [[0, "", write_client(rng), "\n"]]
    if ToolKind.WEB in kinds or not find_system(target).tools.isdisjoint(PAGES):
        above, below = write_page(rng, target.branch.half, size, target.text)
        end = around_line(target.text, len(target.text))
        return [[0, "", above, "\n\n"], [end.at, end.before, below, end.after]]
    told = tell_session(target, rng, size)
    return [] if told is None else [[0, "", dump(told[1], like="{}"), "\n\n"]]


def _measure(length: int, severity: float) -> int:
    """How many characters a result of this length gets."""
    most = VOLUME if severity >= 1 else min(VOLUME, (ROOM + TIMES * length) / (1 - severity))
    return round(severity * most)


def _name_as(value: Any, case: Case, own: frozenset[str]) -> Any:
    """A row with its names as the result writes them; the result's own stay."""
    if isinstance(value, Mapping):
        return {name if name in own else write_key(name, case): one for name, one in value.items()}
    return value
