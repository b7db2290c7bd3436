"""Marks: find the observations of an environment within users' messages, as a profile describes them."""

from __future__ import annotations

from dataclasses import dataclass

from crosswind.injectors.profiles.expressions import check_expression, find_spans
from crosswind.injectors.text.json_leaves import dump_like
from crosswind.injectors.text.json_payload import is_container, parse_json

MOST = 64
"""Observations of one message that are looked at."""


@dataclass(frozen=True, slots=True)
class Observation:
    """An observation in a message: its text, and its span there or the keys that lead to it in JSON."""

    text: str
    at: tuple[int, int] | None
    place: tuple[str | int, ...] = ()


def check_mark(mark: str) -> str:
    """The mark. ValueError where it is neither a JSON pointer nor a regular expression."""
    return mark if mark.startswith("/") else check_expression(mark, ", or begin a JSON pointer with /")


def find_observations(text: str, mark: str) -> list[Observation]:
    """The observations of a message. `mark` is a JSON pointer (RFC 6901; it begins with /) or a regular
    expression, whose first group, where it has one, is the observation."""
    if mark.startswith("/"):
        return _follow_pointer(text, mark)
    return [Observation(text[start:end], (start, end)) for start, end in find_spans(mark, text, MOST)]


def _follow_pointer(text: str, pointer: str) -> list[Observation]:
    value = parse_json(text)
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
        return [Observation(value, None, tuple(place))]
    return [Observation(dump_like(value, like=text), None, tuple(place))] if is_container(value) else []
