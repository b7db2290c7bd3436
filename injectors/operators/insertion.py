"""Add fields to a JSON result without changing its other bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any


def is_plain_text(value: Any, text: str) -> bool:
    """Whether the text has several words and is no JSON, not even a bare value such as `shipped`. `value` is
    the parsed text."""
    return not isinstance(value, str | int | float | bool | dict | list | None) and len(text.split()) > 1


def list_fields(value: Any) -> set[str]:
    """The fields of the top-level object, or of the array's first object."""
    if isinstance(value, list):
        value = value[0] if value else None
    return set(value) if isinstance(value, dict) else set()


def find_insertion_points(text: str, value: Any) -> tuple[int, int] | None:
    """Where fields can be added to the top-level object, or to the array's first object: at its start and at
    its end. None where there is no such object."""
    if isinstance(value, dict):
        start, end = text.index("{"), len(text.rstrip())
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        start = text.index("{")
        _, end = json.JSONDecoder().raw_decode(text, start)
    else:
        return None
    return start + 1, len(text[: end - 1].rstrip())


def insert_fields(text: str, at: int, fields: Iterable[tuple[str, Any]]) -> str:
    """Insert fields at one of the places of `find_insertion_points`, spaced as the text is."""
    before, after = text[:at], text[at:]
    spaced = '": ' in text or '"' not in text
    colon, comma = (": ", ", ") if spaced else (":", ",")
    added = comma.join(f"{json.dumps(key)}{colon}{json.dumps(content)}" for key, content in fields)
    if not added:
        return text
    if not before.endswith("{"):
        added = comma + added
    elif not after.lstrip().startswith("}"):
        added += comma
    return before + added + after
