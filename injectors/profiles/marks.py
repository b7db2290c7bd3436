"""Marks: how a profile says which part of a user's message is an environment's observation."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from crosswind.injectors.text.json_leaves import written
from crosswind.injectors.text.json_payload import is_container, parsed

MOST = 64
"""Observations of one message that are looked at."""


@dataclass(frozen=True, slots=True)
class Marked:
    """An observation: its text, and where it stands: [start, end) in the message, or keys into its JSON."""

    text: str
    at: tuple[int, int] | None
    place: tuple[str | int, ...] = ()


def check(mark: str) -> None:
    """ValueError where the mark is neither a JSON pointer nor a regular expression."""
    if not mark.startswith("/"):
        try:
            re.compile(mark)
        except re.error as error:
            raise ValueError(
                f"no regular expression ({error}): mend it, or begin a JSON pointer with /"
            ) from error


def marked(text: str, mark: str) -> list[Marked]:
    """The observations of a message. `mark` is a JSON pointer (RFC 6901; it begins with /) or a regular
    expression, whose first group, where it has one, is the observation."""
    if mark.startswith("/"):
        return _pointed(text, mark)
    pattern = _compiled(mark)
    group = 1 if pattern.groups else 0
    spans = [match.span(group) for match in pattern.finditer(text)]
    return [Marked(text[start:end], (start, end)) for start, end in spans if end > start][:MOST]


@lru_cache(256)
def _compiled(mark: str) -> re.Pattern[str]:
    return re.compile(mark)


def _pointed(text: str, pointer: str) -> list[Marked]:
    value = parsed(text)
    place: list[str | int] = []
    for step in pointer[1:].split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
            place.append(key)
        elif isinstance(value, list) and key.isascii() and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
            place.append(int(key))
        else:
            return []
    if isinstance(value, str):
        return [Marked(value, None, tuple(place))]
    return [Marked(written(value, like=text), None, tuple(place))] if is_container(value) else []
