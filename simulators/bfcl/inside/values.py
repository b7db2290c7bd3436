"""The values of gold calls, and where they stand in texts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Value = tuple[str, ...]
"""One gold value: the spellings that are accepted for it."""


@dataclass(frozen=True, slots=True)
class Call:
    """A gold call and its result as text; None: it was not executed."""

    tool: str
    arguments: Mapping[str, Any]
    result: str | None = None


def spellings(value: Any) -> list[Value]:
    """The gold values in an argument: each leaf of it, but for truth values and empty texts."""
    if isinstance(value, Mapping):
        return [one for part in value.values() for one in spellings(part)]
    if isinstance(value, list | tuple):
        return [one for part in value for one in spellings(part)]
    if isinstance(value, bool) or value is None or value == "":
        return []
    if isinstance(value, float) and value.is_integer():
        return [(f"{value:g}", str(value))]
    return [(str(value),)]


def shows(text: str, value: Value) -> bool:
    """Whether a value stands in a text, and not as a part of a longer word or number."""
    return any(
        spelling in text and re.search(rf"(?<![\w.]){re.escape(spelling)}(?!\w|\.\d)", text) is not None
        for spelling in value
    )
