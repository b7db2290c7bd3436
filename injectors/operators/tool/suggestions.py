"""Fields beside a result that name other tools, or the values that an argument of its call can have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from crosswind.injectors.conversation import ToolList, ToolListKey
from crosswind.injectors.guard.tool_words import READING
from crosswind.injectors.operators.insertion import (
    around_field,
    find_case,
    find_first_holder,
    find_item_gap,
    write_key,
)
from crosswind.injectors.operators.tool.options import list_near, list_things
from crosswind.injectors.operators.words.results import (
    ACTIONS,
    MEMBERS,
    MENDING,
    NEXT_TOOL,
    NEXT_TOOLS,
    RELATED_TOOLS,
    UNDOING,
)
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.stacks.calls import SECRET, pluralise
from crosswind.injectors.stacks.kinds import read_arguments
from crosswind.injectors.stacks.model import ToolKind
from crosswind.injectors.targets import ToolResultTarget
from crosswind.injectors.values.parameters import split_name


def draw_suggestion(
    target: ToolResultTarget, value: Any, kinds: frozenset[ToolKind], rng: SeededRandom
) -> list[list[Any]]:
    """A field that names other tools on the same things, or the values that an argument can have, behind the
    object's own; at most one, and none where there is no object for it."""
    if not isinstance(value, dict) or find_item_gap(target.text, value):
        return []
    made = [*_draw_next(target, kinds, rng), *_draw_members(target, kinds, rng)]
    point = rng.uniform()
    holder = find_first_holder(target.text, value) if made else None
    if holder is None:
        return []
    case = find_case(target.text)
    keys, told = made[int(point * len(made))]
    key = next((one for one in keys if write_key(one, case) not in holder.keys), None)
    if key is None:
        return []
    place = around_field(target.text, holder.gaps[-1], write_key(key, case))
    return [[place.at, place.before, told, place.after]]


def _draw_next(
    target: ToolResultTarget, kinds: frozenset[ToolKind], rng: SeededRandom
) -> Iterator[tuple[list[str], Any]]:
    """Other tools on the same things, and the names that a field of them can have: what may be done, what
    is related, or what may come next."""
    nearest = list_near(target)
    single, linked, near = rng.chance(0.15), rng.chance(0.3), rng.shuffled(nearest)
    keys, many = rng.choice((ACTIONS, RELATED_TOOLS, NEXT_TOOLS)), rng.integer(1, MOST_NEXT)
    name = rng.choice(("name", "tool", "action", "operation"))
    if not near or not LOCAL.isdisjoint(kinds):
        return
    firsts = {one: next(iter(split_name(one)), "") for one in near}
    own, undoing = list_things(target.tool), {one for one in near if firsts[one] in UNDOING}
    if keys is ACTIONS:
        near = [one for one in near if firsts[one] not in READING and _is_within(own, list_things(one))]
        undoing = undoing if _FINISHED.search(target.text) else set()
    elif keys is RELATED_TOOLS:
        undoing = {one for one in undoing if not list_things(one) <= own}
    near = [one for one in near if one not in undoing]
    if not MENDING.isdisjoint(map(firsts.__getitem__, near)) and _WELL.search(target.text):
        near = [one for one in near if firsts[one] not in MENDING]
    if not near:
        return
    if single and keys is NEXT_TOOLS:
        # What comes next by itself shares more than a word.
        sure = (one for one in near if one == nearest[0] or _is_within(own, list_things(one)))
        if (first := next(sure, None)) is not None:
            yield rng.shuffled(NEXT_TOOL), first
            return
    told: list[Any] = near[:many]
    if linked:
        told = [{name: one} for one in told]
    yield rng.shuffled(keys), told


def _is_within(own: frozenset[str], others: frozenset[str]) -> bool:
    """Whether one of two things is the other or a part of it: an order and its items, but not two brakes."""
    return own <= others or others <= own


_WELL = re.compile(
    r'(?:healthy|normal|ok|good|valid)\w*\\?"\s*:\s*true|:\s*\\?"(?:healthy|normal|ok|good)\\?"',
    re.IGNORECASE,
)
"""What a record says of itself where nothing has to be mended."""
_FINISHED = re.compile(
    r""":\s*\\?"(?:completed?|delivered|cancell?ed|closed|shipped|returned|refunded|finished|done)\\?"
    |(?:completed|delivered|cancell?ed|closed|shipped|returned|finished)\\?"\s*:\s*true""",
    re.IGNORECASE | re.VERBOSE,
)
"""What a record says of itself where nothing is left to be undone."""
MOST_NEXT = 3
"""How many other tools are named at most."""
LOCAL = frozenset({ToolKind.SHELL, ToolKind.CODE, ToolKind.FUNCTION, ToolKind.SQL})
"""Systems that name no other calls."""
_COMMANDED = frozenset({ToolKind.SHELL, ToolKind.CODE, ToolKind.SQL})
"""Systems whose calls have no arguments with a schema."""


def _draw_members(
    target: ToolResultTarget, kinds: frozenset[ToolKind], rng: SeededRandom
) -> Iterator[tuple[list[str], Any]]:
    """What an argument of the call can be by its schema, and the names that a field of it can have."""
    enumerated = _list_enumerated(target.tool, ToolList.of(target.tools).key)
    if not enumerated or not _COMMANDED.isdisjoint(kinds):
        rng.skip(len(MEMBERS) - 1)
        return
    firsts, given = rng.shuffled(MEMBERS), read_arguments(target)
    for properties in enumerated:
        for name, chosen in given.items():
            if chosen in properties.get(name, ()):
                words = "_".join(split_name(name))
                plural = f"{words}es" if words.endswith("ss") else pluralise(words)
                yield [f"{first}_{plural}" for first in firsts if first != "other"], properties[name]


@lru_cache(256)
def _list_enumerated(tool: str, declared: ToolListKey) -> list[dict[str, list[str]]]:
    """The arguments that are one of a few texts by their schema, in each of the tools of that name that has
    some."""
    found = [
        {name: one["enum"] for name, one in properties.items() if _is_enumerated(name, one)}
        for schema in declared.tools.named(tool)
        if isinstance(properties := schema.parameters.get("properties"), Mapping)
    ]
    return [one for one in found if one]


def _is_enumerated(name: str, schema: Any) -> bool:
    members = schema.get("enum") if isinstance(schema, Mapping) else None
    if not isinstance(members, list) or not 1 < len(members) <= MOST_MEMBERS or SECRET.search(name):
        return False
    return all(isinstance(member, str) for member in members)


MOST_MEMBERS = 8
