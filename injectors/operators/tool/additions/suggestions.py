"""Fields beside a result that name other tools, other values of an argument, other records or their order."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from crosswind.injectors.conversation import ToolList, ToolListKey
from crosswind.injectors.operators.insertion import (
    around_field,
    find_case,
    find_first_holder,
    find_item_gap,
    write_key,
)
from crosswind.injectors.operators.tool.additions.named_calls import Suggested, draw_calls, is_english
from crosswind.injectors.operators.tool.additions.options import Slots
from crosswind.injectors.operators.words.results import (
    CHOICES,
    MEMBERS,
    NEUTRAL_MEMBERS,
    NEUTRAL_OTHERS,
    OTHER_MEMBERS,
    PARAMETERS,
    PREFERENCES,
    SEARCHING,
    SORTS,
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


def _draw_record(
    target: ToolResultTarget, value: dict[str, Any], kinds: frozenset[ToolKind], rng: SeededRandom
) -> Suggested | None:
    """Another of the records among which somebody chooses."""
    key, records = _find_longest(value)
    noun = to_singular("_".join(split_name(key)))
    if len(records) < LEAST_RECORDS or noun not in CHOICES:
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
    if not _COMMANDED.isdisjoint(kinds) or not (verb in SEARCHING or noun.rpartition("_")[2] in CHOICES):
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
    own = rng.chance(0.2) and noun in CHOICES and not names[0].startswith("available")
    return ([f"{noun}_{one}" for one in names] if own else names), told


LEAST_SORTS, MOST_SORTS = 2, 4


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
    others, told = [member for member in members if member != one], rng.chance(OTHERS)
    shown = others if told else members
    words = split_name(name)
    if words[-1] not in PARAMETERS or not is_english(target.tool):
        return rng.shuffled(NEUTRAL_OTHERS if told else NEUTRAL_MEMBERS), {name: shown}
    if rng.chance(NEUTRAL):
        return rng.shuffled(NEUTRAL_OTHERS if told else NEUTRAL_MEMBERS), {name: shown}
    named = "_".join(words)
    plural = f"{named}es" if named.endswith(("ss", "us")) else pluralise(named)
    if told:
        return [f"{first}_{plural}" for first in rng.shuffled(OTHER_MEMBERS)], others
    names = [f"{first}_{plural}" for first in rng.choices(MEMBERS, 2)]
    return [f"{to_singular(named)}_options", *names] if rng.chance(0.2) else names, members


OTHERS, NEUTRAL = 0.35, 0.2
"""How often the values that weren't given are listed, and under a name that every argument can have."""


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


_WAYS = (draw_calls, _draw_members, _draw_record, _draw_sorts)
