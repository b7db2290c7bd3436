"""What kind of scene an observation shows, and where text can be inserted: never in its goal or actions."""

from __future__ import annotations

import re
from enum import StrEnum

from crosswind.injectors.text.json_payload import is_container, parse_json


class Scene(StrEnum):
    """The kinds of observation that have irrelevant content of their own."""

    GRID = "grid"
    SHOP = "shop"
    HOUSEHOLD = "household"
    DATA = "data"
    OTHER = "other"


_SHOP = re.compile(r"\[SEP\]|\bBack to Search\b|\bBuy Now\b|\bB0[0-9A-Z]{8}\b")
_GRID = re.compile(r"\(\s*\d{1,4}\s*,\s*\d{1,4}\s*\)")
_HOUSEHOLD = re.compile(
    r"\byou (?:see|are in|arrive|open|close|pick up|turn on|notice)\b"
    r"|\b(?:cabinet|drawer|countertop|fridge)\b",
    re.IGNORECASE,
)
_GOAL = re.compile(r"\b(?:task|goal|instructions?|objective)\b[^:\n]{0,40}:|\btask is\b", re.IGNORECASE)
_ACTIONS = re.compile(r"^[^\n:]{0,60}\bactions?\b[^\n:]{0,60}:", re.IGNORECASE | re.MULTILINE)
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")


def recognise_scene(text: str) -> Scene | None:
    """The kind of the observation; None for a bare value, to which nothing can be added."""
    value = parse_json(text)
    if is_container(value):
        return Scene.DATA
    if isinstance(value, str | int | float | None) or len(text.split()) < 2:
        return None
    kinds = ((_SHOP, Scene.SHOP), (_GRID, Scene.GRID), (_HOUSEHOLD, Scene.HOUSEHOLD))
    return next((kind for pattern, kind in kinds if pattern.search(text)), Scene.OTHER)


def find_end(text: str) -> int:
    """Where the observation ends: before the list of actions, if there is one, else at the text's end."""
    actions = _ACTIONS.search(text)
    return len(text[: actions.start()].rstrip()) if actions else len(text.rstrip())


def find_goal(text: str) -> str:
    """The lines of a text that state the goal or give instructions."""
    return "\n".join(line for line in text.splitlines() if _GOAL.search(line))


def find_gaps(text: str) -> list[int]:
    """Ends of the observation's sentences, in order: never inside the lines of a goal or instructions, nor
    in the list of actions."""
    places: list[int] = []
    end = find_end(text)
    start = 0
    for line in text[:end].splitlines(keepends=True):
        if not _GOAL.search(line):
            places += [start + match.end() for match in _SENTENCE_END.finditer(line)]
        start += len(line)
    return places or [end]
