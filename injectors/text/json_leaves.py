"""The single values of a JSON result: where they stand, and how to change some."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from typing import Any

from crosswind.injectors.targets import ToolResultTarget

DEEPEST, MOST = 40, 400
"""Results nested deeper are left alone; of longer ones the first 400 values can be changed, so that a stored
draw stays small."""

Place = list[str | int]
"""The keys and indices that lead to a value."""


def list_leaves(value: Any) -> list[tuple[Place, Any]]:
    """The scalars of a parsed result with their places, in order; none where it is nested too deeply."""
    found: list[tuple[Place, Any]] = []
    return found if _walk([], value, found) else []


def _walk(place: Place, part: Any, found: list[tuple[Place, Any]]) -> bool:
    """Add the scalars of a part, up to `MOST` in all; False: it is nested too deeply."""
    if isinstance(part, dict):
        members: Iterable[tuple[str | int, Any]] = part.items()
    elif isinstance(part, list):
        members = enumerate(part[:MOST])
    else:
        if len(found) < MOST:
            found.append((place, part))
        return True
    if part and len(place) == DEEPEST:
        return False
    for key, one in members:
        if isinstance(one, _CONTAINERS):
            if not _walk([*place, key], one, found):
                return False
        elif len(found) < MOST:
            found.append(([*place, key], one))
    return True


_CONTAINERS = (dict, list)


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
    escaped = like.isascii()
    if "\n" in like:
        return json.dumps(value, indent=2, ensure_ascii=escaped)
    separators = (", ", ": ") if '": ' in like or ", " in like else (",", ":")
    return json.dumps(value, separators=separators, ensure_ascii=escaped)
