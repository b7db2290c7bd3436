"""The single values of a JSON result: where they stand, and how to change some."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import msgspec

from crosswind.injectors.targets import ToolResultTarget
from crosswind.injectors.text.json_payload import REMEMBERED, parse_json

DEEPEST, MOST = 40, 400
"""Results nested deeper are left alone; of longer ones the first 400 values can be changed, so that a stored
draw stays small."""

Place = list[str | int]
"""The keys and indices that lead to a value."""


class Leaves(msgspec.Struct, frozen=True, gc=False):
    """The scalars of a JSON result, in order; none where it is nested too deeply."""

    values: list[Any] = []
    names: list[str] = []
    """The keys that lead to each of them, outermost first."""


def list_leaves(text: str) -> Leaves:
    """The scalars of a text; of one that isn't JSON none."""
    return _short_leaves(text) if len(text) <= REMEMBERED else _list_leaves(text)


def _list_leaves(text: str) -> Leaves:
    value = parse_json(text)
    found = Leaves([], [])
    return found if isinstance(value, _CONTAINERS) and _walk(value, [], 0, found) else Leaves()


_short_leaves = lru_cache(64)(_list_leaves)
"""Cached: what tells a result's language and how it writes names asks for them."""


def _walk(part: Any, path: list[str], depth: int, found: Leaves) -> bool:
    """Add the scalars of an object or array, up to `MOST` in all; False: it is nested too deeply."""
    if part and depth == DEEPEST:
        return False
    if isinstance(part, list):
        return _walk_list(part, path, depth, found)
    values, names = found.values, found.names
    for key, one in part.items():
        if isinstance(one, _CONTAINERS):
            if not _walk(one, [*path, key], depth + 1, found):
                return False
        elif len(values) < MOST:
            values.append(one)
            names += path
            names.append(key)
    return True


def _walk_list(part: list[Any], path: list[str], depth: int, found: Leaves) -> bool:
    values, names = found.values, found.names
    if depth + 1 < DEEPEST and (records := _read_records(part, MOST - len(values))) is not None:
        values += records
        names += [name for key in part[0] for name in (*path, key)] * len(part)
        return True
    known: tuple[str, ...] = ()
    told: list[str] = []
    for one in part[:MOST]:
        if not isinstance(one, _CONTAINERS):
            if len(values) < MOST:
                values.append(one)
                names += path
        elif isinstance(one, dict) and depth + 1 < DEEPEST and _fits(one, MOST - len(values)):
            # A list's records have the same fields, most often.
            if (keys := tuple(one)) != known:
                known, told = keys, [name for key in keys for name in (*path, key)]
            values += one.values()
            names += told
        elif not _walk(one, path, depth + 1, found):
            return False
    return True


def _read_records(part: list[Any], most: int) -> list[Any] | None:
    """The scalars of a list of records that all have the same fields, no more than so many; None: it is
    none."""
    if not part or type(part[0]) is not dict or len(part) * len(part[0]) > most:
        return None
    if set(map(type, part)) != _RECORDS or len(set(map(tuple, part))) > 1:
        return None
    scalars = list(chain.from_iterable([one.values() for one in part]))
    return scalars if _NESTED.isdisjoint(map(type, scalars)) else None


def _fits(record: dict[str, Any], most: int) -> bool:
    """Whether a record has scalars only, and no more of them."""
    return len(record) <= most and _NESTED.isdisjoint(map(type, record.values()))


_CONTAINERS = (dict, list)
_NESTED = frozenset(_CONTAINERS)
_RECORDS = {dict}


def is_asked_for(leaf: Any, target: ToolResultTarget) -> bool:
    text = leaf if isinstance(leaf, str) else json.dumps(leaf)
    return bool(text) and _stands_alone(text, target.arguments)


def _stands_alone(text: str, within: str) -> bool:
    """Whether a text stands there, and not as a part of a longer word. No pattern is made of it: that takes a
    hundred times as long as the search."""
    at = within.find(text)
    while at >= 0:
        end = at + len(text)
        if not (at > 0 and _in_word(within[at - 1])) and not (end < len(within) and _in_word(within[end])):
            return True
        at = within.find(text, at + 1)
    return False


def _in_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def follow(value: Any, place: Sequence[str | int]) -> Any:
    """What stands at this place of a JSON value; None: nothing."""
    for key in place:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def replace_leaves(value: Any, edits: Iterable[tuple[Place, Any]]) -> Any:
    """A copy of the value with these leaves in place of those that stand there."""
    out = copy.copy(value)
    for place, leaf in edits:
        holder = out
        for key in place[:-1]:
            holder[key] = copy.copy(holder[key])
            holder = holder[key]
        holder[place[-1]] = leaf
    return out


def dump_like(value: Any, like: str) -> str:
    """JSON in the style of the text that it replaces: spacing, line breaks and escapes."""
    apart = "\n" in like or '": ' in like or ", " in like
    return _make_encoder("\n" in like, apart, like.isascii())(value)


@lru_cache
def _make_encoder(lines: bool, apart: bool, escaped: bool) -> Callable[[Any], str]:
    """Made once a style: `json.dumps` makes one for each call."""
    indent, separators = (2, None) if lines else (None, (", ", ": ") if apart else (",", ":"))
    return json.JSONEncoder(indent=indent, separators=separators, ensure_ascii=escaped).encode
