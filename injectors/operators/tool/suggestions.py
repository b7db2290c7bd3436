"""Fields beside a result that name other tools, other values of an argument, other records or their order."""

from __future__ import annotations

import re
from collections.abc import Mapping
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
from crosswind.injectors.operators.tool.options import Slots, list_near, list_things
from crosswind.injectors.operators.words.results import (
    ACTION_SUFFIXES,
    ACTIONS,
    CALL_NAMES,
    CHOICES,
    MEMBER_SUFFIXES,
    MEMBERS,
    MENDING,
    NEXT_TOOL,
    NEXT_TOOLS,
    OTHER_MEMBERS,
    PREFERENCES,
    RELATED_TOOLS,
    SORTS,
    UNDOING,
)
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.stacks.calls import SECRET, pluralise
from crosswind.injectors.stacks.kinds import read_arguments
from crosswind.injectors.stacks.model import ToolKind
from crosswind.injectors.targets import ToolResultTarget
from crosswind.injectors.text.json_payload import is_container
from crosswind.injectors.values.parameters import split_name


def draw_suggestion(
    target: ToolResultTarget, value: Any, kinds: frozenset[ToolKind], rng: SeededRandom
) -> list[list[Any]]:
    """A field that names other tools on the same things, the values that an argument can have, another of
    the records that are listed, or how these could be ordered, behind the object's own; at most one, and none
    where there is no object for it."""
    if not isinstance(value, dict) or find_item_gap(target.text, value):
        return []
    made = next((one for way in rng.shuffled(_WAYS) if (one := way(target, value, kinds, rng))), None)
    holder = find_first_holder(target.text, value) if made else None
    if made is None or holder is None:
        return []
    case = find_case(target.text)
    keys, told = made
    key = next((one for one in keys if write_key(one, case) not in holder.keys), None)
    if key is None:
        return []
    place = around_field(target.text, holder.gaps[-1], write_key(key, case))
    return [[place.at, place.before, told, place.after]]


Suggested = tuple[list[str], Any]
"""The names that a field can have, and its value."""


def _draw_next(
    target: ToolResultTarget, value: dict[str, Any], kinds: frozenset[ToolKind], rng: SeededRandom
) -> Suggested | None:
    """Other tools on the same things: what may be done, what is related, or what may come next."""
    nearest = list_near(target)
    if not nearest or not LOCAL.isdisjoint(kinds):
        return None
    near = rng.shuffled(nearest)
    keys, many = rng.choice((ACTIONS, RELATED_TOOLS, NEXT_TOOLS)), rng.integer(1, MOST_NEXT)
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
        return None
    if keys is NEXT_TOOLS and rng.chance(SINGLE):
        # What comes next by itself shares more than a word.
        sure = (one for one in near if one == nearest[0] or _is_within(own, list_things(one)))
        if (first := next(sure, None)) is not None:
            return rng.shuffled(NEXT_TOOL), first
    named = rng.shuffled(keys)
    if thing := name_thing(target.tool):
        own_names = [f"{thing}_{one}" for one in rng.choices(ACTION_SUFFIXES, 2)]
        named = [*own_names, *named] if rng.chance(OWN_NAME) else [*named, *own_names]
    return named, _write_calls(near[:many], rng)


SINGLE = 0.3
"""How often what may come next is a single call."""
OWN_NAME = 0.6
"""How often a field has the name of what the result is about."""


def _write_calls(names: list[str], rng: SeededRandom) -> Any:
    """The names of calls as a list, in objects, by their verbs, or in a text."""
    way = rng.uniform()
    if way < 0.25:
        called = rng.choice(CALL_NAMES)
        return [{called: one} for one in names]
    verbs = {split_name(one)[0]: one for one in names}
    if way < 0.5 and len(verbs) == len(names):
        return verbs
    return ", ".join(names) if way > 0.9 else names


def name_thing(tool: str) -> str:
    """What a tool's name speaks of, without its verb: `order` of `get_order_details`."""
    things, words = list_things(tool), split_name(tool)[1:]
    joined = next((at for at in range(len(words) - 1, 0, -1) if words[at] in _JOINING), 0)
    named = [[word for word in part if word.removesuffix("s") in things] for part in (words[joined:], words)]
    return to_singular("_".join(named[0] or named[1]))


_JOINING = frozenset("to from in of for by on with".split())
"""Words of a name behind which stands what it is about: `add_item_to_cart`."""


def _draw_record(
    target: ToolResultTarget, value: dict[str, Any], kinds: frozenset[ToolKind], rng: SeededRandom
) -> Suggested | None:
    """Another of the records among which somebody chooses."""
    key, records = _find_longest(value)
    noun = to_singular("_".join(split_name(key)))
    if len(records) < LEAST_RECORDS or noun.rpartition("_")[2] not in CHOICES:
        return None
    slots = Slots(target, rng).with_options()
    if "option" not in slots:
        return None
    label = slots["option"]
    record = next((one for one in records if isinstance(one, dict) and label in one.values()), None)
    told: Any = label
    if record is not None and rng.chance(0.5):
        scalars = {name: one for name, one in record.items() if not is_container(one)}
        told = dict(list(scalars.items())[: rng.integer(1, 3)]) | {
            name: one for name, one in scalars.items() if one == label
        }
    firsts = rng.choices(PREFERENCES, 2)
    plural = rng.chance(0.2)
    names = [f"{one}_{pluralise(noun) if plural else noun}" for one in firsts]
    return names, [told] if plural else told


LEAST_RECORDS = 2


def _find_longest(value: dict[str, Any]) -> tuple[str, list[Any]]:
    """The longest list among an object's fields, with its key."""
    lists = [(key, one) for key, one in value.items() if isinstance(one, list)]
    return max(lists, key=lambda one: len(one[1]), default=("", []))


def to_singular(name: str) -> str:
    """A name whose last word is in the singular, where that is another word."""
    if name.endswith(_PLURAL_ONLY):
        return name
    if name.endswith("ies"):
        return f"{name[:-3]}y"
    if name.endswith(("sses", "shes", "ches", "xes")):
        return name[:-2]
    return name.removesuffix("s")


_PLURAL_ONLY = ("ss", "us", "is", "news", "series", "hours", "sales", "ids")


def _draw_sorts(
    target: ToolResultTarget, value: dict[str, Any], kinds: frozenset[ToolKind], rng: SeededRandom
) -> Suggested | None:
    """The fields by which the records of a search could be ordered or narrowed."""
    key, records = _find_longest(value)
    if len(records) < LEAST_RECORDS or not isinstance(records[0], dict):
        return None
    noun, verb = to_singular("_".join(split_name(key))), next(iter(split_name(target.tool)), "")
    if not _COMMANDED.isdisjoint(kinds) or not (verb in _SEARCHING or noun.rpartition("_")[2] in CHOICES):
        return None
    scalars = [
        name
        for name, one in records[0].items()
        if not is_container(one) and split_name(name)[-1:] not in (("id",), ("url",))
    ]
    if len(scalars) < LEAST_SORTS:
        return None
    told = rng.sample(scalars, rng.integer(LEAST_SORTS, min(MOST_SORTS, len(scalars))))
    names = rng.choices(SORTS, 2)
    own = rng.chance(OWN_NAME / 2) and not names[0].startswith("available")
    return ([f"{noun}_{one}" for one in names] if own else names), told


_SEARCHING = frozenset("search find list browse query lookup filter".split())
"""First words of calls that give what others may be ordered or narrowed."""
LEAST_SORTS, MOST_SORTS = 2, 4


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
    target: ToolResultTarget, value: dict[str, Any], kinds: frozenset[ToolKind], rng: SeededRandom
) -> Suggested | None:
    """What an argument of the call can be by its schema, or what else it can be."""
    enumerated = _list_enumerated(target.tool, ToolList.of(target.tools).key)
    if not enumerated or not _COMMANDED.isdisjoint(kinds):
        return None
    given = read_arguments(target)
    chosen = [
        (name, one, properties[name])
        for properties in enumerated
        for name, one in given.items()
        if one in properties.get(name, ())
    ]
    if not chosen:
        return None
    name, one, members = rng.choice(chosen)
    words = "_".join(split_name(name))
    plural = f"{words}es" if words.endswith("ss") else pluralise(words)
    way = rng.uniform()
    if way < 0.4:
        others = [member for member in members if member != one]
        firsts = [f"{first}_{plural}" for first in rng.choices(OTHER_MEMBERS, 2)]
        if way < 0.2 and len(others) > 1:
            return firsts, rng.sample(others, len(others) - 1)
        return firsts, others
    if way < 0.7:
        names = [f"{words}_{suffix}" for suffix in rng.choices(MEMBER_SUFFIXES, 2)]
        return [plural, *names] if way < 0.5 else names, members
    return [f"{first}_{plural}" for first in rng.choices(MEMBERS, 2)], members


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


_WAYS = (_draw_next, _draw_members, _draw_record, _draw_sorts)
