"""The single values of a JSON result: where they stand, which of them name a thing, how to change some."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from crosswind.injectors.targets import ToolResultTarget

DEEPEST, MOST = 40, 400
"""Results nested deeper are left alone; of longer ones the first 400 values can be changed, so that a stored
draw stays small."""

LONGEST_FIELD = 64
"""Characters of the longest field's name that is remembered."""

Place = list[str | int]
"""The keys and indices that lead to a value."""

_NAMING = re.compile(r"(?:^|[_\W])(?:ids?|uuid|number|code|key|token|e-?mail|phone|zip|url|uri|count)$")
_CAMEL_ID = re.compile(r"[a-z](?:Ids?|Number|Code|Key|Token|Email|Url|Count)$")
_NAME_LIKE = re.compile(r"@|://|\d")


def list_leaves(value: Any) -> list[tuple[Place, Any]]:
    """The scalars of a parsed result with their places, in order; none where it is nested too deeply."""
    found: list[tuple[Place, Any]] = []
    pending: list[tuple[Place, Any]] = [([], value)]
    while pending:
        place, part = pending.pop()
        if len(place) > DEEPEST:
            return []
        if isinstance(part, dict):
            pending.extend(([*place, key], part[key]) for key in reversed(part))
        elif isinstance(part, list):
            pending.extend(([*place, at], part[at]) for at in range(min(len(part), MOST) - 1, -1, -1))
        elif len(found) < MOST:
            found.append((place, part))
    return found


def list_facts(value: Any, target: ToolResultTarget) -> list[tuple[Place, Any]]:
    """The leaves that state something about the thing asked for, rather than name it: no ids, codes,
    addresses or counts, nothing that the call's own arguments hold."""
    return [
        (place, leaf)
        for place, leaf in list_leaves(value)
        if leaf is not None and not _names_a_thing(place, leaf) and not is_asked_for(leaf, target)
    ]


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


def _names_a_thing(place: Place, leaf: Any) -> bool:
    field = next((key for key in reversed(place) if isinstance(key, str)), "")
    named = _known_field(field) if len(field) <= LONGEST_FIELD else _is_a_name(field)
    return named or (isinstance(leaf, str) and bool(_NAME_LIKE.search(leaf)))


def _is_a_name(field: str) -> bool:
    return bool(_NAMING.search(field.lower()) or _CAMEL_ID.search(field))


_known_field = lru_cache(4096)(_is_a_name)


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


def can_be_marked(value: Any, mark: str) -> bool:
    """Whether the mark, a field of the object or of an object put at the array's end, would be new."""
    last = value[-1] if isinstance(value, list) and value else value
    return isinstance(value, dict | list) and not (isinstance(last, dict) and mark in last)


def add_mark(value: Any, mark: str, content: Any) -> Any:
    """The JSON object with the mark as its last field, or the array with an object holding it at its end."""
    return {**value, mark: content} if isinstance(value, dict) else [*value, {mark: content}]


def dump_like(value: Any, like: str) -> str:
    """JSON in the style of the text that it replaces: spacing, line breaks and escapes."""
    escaped = like.isascii()
    if "\n" in like:
        return json.dumps(value, indent=2, ensure_ascii=escaped)
    separators = (", ", ": ") if '": ' in like or ", " in like else (",", ":")
    return json.dumps(value, separators=separators, ensure_ascii=escaped)
