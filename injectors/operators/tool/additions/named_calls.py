"""Fields beside a result that name other declared tools, as services name what can be done with a record."""

from __future__ import annotations

import re
from typing import Any

from crosswind.injectors.guard.tool_words import ACTING, READING, TELLING, WRITING
from crosswind.injectors.operators.tool.additions.options import list_near, list_things
from crosswind.injectors.operators.words.results import (
    ACT_HINTS,
    ACTIONS,
    BASES,
    CHANGING,
    HINTS,
    LINK_LISTS,
    LINKS,
    MENDING,
    NEXT_TOOL,
    NEXT_TOOLS,
    OWN_ACTIONS,
    READ_HINTS,
    RECORDS,
    RELATED_TOOL,
    RELATED_TOOLS,
    SEARCHING,
    STARTING,
    UNDOING,
    VERBS,
)
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.stacks.model import ToolKind
from crosswind.injectors.targets import ToolResultTarget
from crosswind.injectors.values.parameters import split_name

Suggested = tuple[list[str], Any]
"""The names that a field can have, and its value."""
LOCAL = frozenset({ToolKind.SHELL, ToolKind.CODE, ToolKind.FUNCTION, ToolKind.SQL})
"""Systems that name no other calls."""
MOST_NEXT = 3
"""How many other tools are named at most."""


def draw_calls(
    target: ToolResultTarget, value: dict[str, Any], kinds: frozenset[ToolKind], rng: SeededRandom
) -> Suggested | None:
    """Other tools on the same things: what may be done, what is related, or what may come next."""
    near = [] if not LOCAL.isdisjoint(kinds) else _list_sensible(target)
    if not near:
        return None
    near, own = rng.shuffled(near), list_things(target.tool)
    within = [one for one in near if _is_within(own, list_things(one))]
    acting = [one for one in within if _first(one) not in READING]
    # What undoes a thing may be allowed, but isn't what a system would have done next.
    safe = [one for one in near if _first(one) not in UNDOING]
    coming = [one for one in safe if one in within]
    count, way = rng.integer(1, MOST_NEXT), rng.uniform()
    drawn: Suggested | None = None
    if acting and way < 0.35:
        drawn = _draw_actions(target, acting[:count], rng)
    elif within and way < 0.5:
        drawn = _draw_links(within[:count], own, rng)
    elif coming and way < 0.75:
        drawn = _draw_coming(target, coming[:count], rng)
    return drawn or (_draw_related(target, safe[:count], rng) if safe else None)


def is_english(tool: str) -> bool:
    """Whether a tool's name begins with an English verb."""
    return _first(tool) in _VERBS


_VERBS = TELLING | ACTING | WRITING | CHANGING | SEARCHING | STARTING | UNDOING


def _first(tool: str) -> str:
    return next(iter(split_name(tool)), "")


def _list_sensible(target: ToolResultTarget) -> list[str]:
    """The tools on the same things that a system can name beside this result, the nearest first."""
    near, own = list_near(target), list_things(target.tool)
    if not near:
        return near
    first, text = _first(target.tool), target.text
    left_out: frozenset[str] = frozenset()
    if _FINISHED.search(text):
        left_out |= UNDOING
    if _WELL.search(text):
        left_out |= MENDING
    if _RUNNING.search(text):
        left_out |= STARTING
    near = [one for one in near if all(state in text for state in _STATES.intersection(split_name(one)))]
    if first in UNDOING or _ENDED.search(text):
        # Nothing is left to be changed.
        return [one for one in near if _first(one) in READING and list_things(one) == own]
    if first not in TELLING and is_english(target.tool):
        # Who has booked needs no fare: only the record itself is read, and none is looked for.
        left_out |= SEARCHING
        near = [one for one in near if _first(one) not in READING or list_things(one) == own]
    return [one for one in near if _first(one) not in left_out]


def _is_within(own: frozenset[str], others: frozenset[str]) -> bool:
    """Whether one of two things is the other or a part of it: an order and its items, but not two brakes."""
    return own <= others or others <= own


def _draw_actions(target: ToolResultTarget, acting: list[str], rng: SeededRandom) -> Suggested:
    """What can be done with a record: `order_actions`."""
    tool = target.tool
    names, thing = rng.shuffled(ACTIONS), name_record(tool)
    if thing and rng.chance(OWN_NAME):
        names = [*(one.format(thing) for one in rng.shuffled(OWN_ACTIONS)), *names]
    verbs = [_first(one) for one in acting]
    same = all(list_things(one) == list_things(tool) and is_english(one) for one in acting)
    if same and len(set(verbs)) == len(verbs) and rng.chance(0.35):
        return rng.shuffled(VERBS), verbs
    return names, _write_names(target, acting, names[0], rng)


OWN_NAME = 0.4
"""How often a field has the name of what the result is about."""


def name_record(tool: str) -> str:
    """The plain noun for the record that a tool's name speaks of: `order` of `get_order_details`."""
    named = [one for word in split_name(tool)[1:] if (one := word.removesuffix("s")) in RECORDS]
    return named[0] if len(named) == 1 else ""


def _draw_links(named: list[str], own: frozenset[str], rng: SeededRandom) -> Suggested | None:
    """Links to calls, by what each does or gives: HAL's and OpenAPI's objects, or a list of relations."""
    base = rng.choice(BASES)
    links = {rel: one for one in named if (rel := _name_relation(one, own))}
    if not links:
        return None
    names, way = rng.shuffled(LINKS), rng.uniform()
    if way < 0.15:
        return ["links"], {rel: {"operationId": one} for rel, one in links.items()}
    paths = {rel: f"{base}{_name_resource(one)}" for rel, one in links.items()}
    if way < 0.4:
        return names, {rel: {"href": one} for rel, one in paths.items()}
    if way < 0.55:
        methods = {rel: "GET" if _first(one) in READING else "POST" for rel, one in links.items()}
        return names, {rel: {"href": one, "method": methods[rel]} for rel, one in paths.items()}
    if way < 0.85:
        return rng.shuffled(LINK_LISTS), [{"rel": rel, "href": one} for rel, one in paths.items()]
    return names, paths


def _name_relation(tool: str, own: frozenset[str]) -> str:
    """What a link to a call is called: its verb, or else what it gives besides."""
    first, *words = split_name(tool)
    if first not in READING:
        return first
    return "_".join(word for word in words if word.removesuffix("s") not in own)


def _name_resource(tool: str) -> str:
    """The last part of a link's path: a call's name, without its verb where it reads, as REST has it."""
    first, *words = split_name(tool)
    return "_".join(words) if words and first in READING else tool


def _draw_coming(target: ToolResultTarget, coming: list[str], rng: SeededRandom) -> Suggested:
    """What may come next."""
    if rng.chance(SINGLE):
        return rng.shuffled(NEXT_TOOL), coming[0]
    names = rng.shuffled(NEXT_TOOLS)
    return names, _write_names(target, coming, names[0], rng)


SINGLE = 0.3
"""How often what may come next is a single call."""


def _draw_related(target: ToolResultTarget, named: list[str], rng: SeededRandom) -> Suggested:
    """What is related, or a sentence that says so."""
    if is_english(target.tool) and rng.chance(HINTED):
        hints = READ_HINTS if _first(named[0]) in READING else ACT_HINTS
        return rng.shuffled(HINTS), rng.choice(hints).format(named[0])
    if len(named) == 1 and rng.chance(SINGLE):
        return rng.shuffled(RELATED_TOOL), named[0]
    names = rng.shuffled(RELATED_TOOLS)
    return names, _write_names(target, named, names[0], rng)


HINTED = 0.4
"""How often a sentence names a call."""


def _write_names(target: ToolResultTarget, named: list[str], key: str, rng: SeededRandom) -> list[Any]:
    """The names of calls as a list, or each in an object, with what it does where that is said in short."""
    if not rng.chance(IN_OBJECTS):
        return list(named)
    last = key.rpartition("_")[2].removesuffix("s")
    called = last if last in CALLED and rng.chance(0.5) else "action" if last == "step" else "name"
    does = {one.name: _shorten(one.description) for one in target.tools if one.name in named}
    if all(does.get(one) for one in named) and rng.chance(0.6):
        return [{called: one, "description": does[one]} for one in named]
    return [{called: one} for one in named]


IN_OBJECTS = 0.5
CALLED = frozenset("tool function operation action command method".split())
"""What a call is called in an object, as the field that holds it does."""


def _shorten(description: str) -> str:
    """The first sentence of a description; empty: it is long, or isn't on the tool itself."""
    first = description.strip().split("\n", 1)[0].split(". ", 1)[0].rstrip(".")
    return (
        f"{first}." if 0 < len(first) <= LONGEST and ":" not in first and not first.startswith("This") else ""
    )


LONGEST = 80
"""Characters of the longest description that is repeated."""
_STATES = frozenset("pending delivered unpaid paid open closed shipped active".split())
"""Words of a tool's name by which it is for records of that state."""
_WELL = re.compile(
    r'(?:healthy|normal|ok|good|valid)\w*\\?"\s*:\s*true|:\s*\\?"(?:healthy|normal|ok|good)\\?"',
    re.IGNORECASE,
)
"""What a record says of itself where nothing has to be mended."""
_RUNNING = re.compile(r':\s*\\?"(?:running|started|on|playing|active|enabled)\\?"', re.IGNORECASE)
"""What it says where nothing has to be started."""
_FINISHED = re.compile(
    r""":\s*\\?"(?:completed?|delivered|closed|shipped|returned|refunded|finished|done)\\?"
    |(?:completed|delivered|closed|shipped|returned|finished)\\?"\s*:\s*true""",
    re.IGNORECASE | re.VERBOSE,
)
"""What it says where nothing is left to be undone."""
_ENDED = re.compile(
    r':\s*\\?"(?:cancell?ed|deleted|removed|revoked)\\?"|(?:cancell?ed|deleted)\\?"\s*:\s*true', re.IGNORECASE
)
"""What it says where nothing is left to be changed."""
