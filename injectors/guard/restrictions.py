"""Values that a user rules out, or that bound what they want: a sentence says another thing without one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.text import entities
from crosswind.injectors.text.languages import Language, detect_language
from crosswind.injectors.text.negations import is_limit, is_restricted

_DENIES = entities.LOGIC_WORDS - frozenset(
    "but instead all any both each every more less least most before after until since".split()
)
"""English words that rule out what stands beside them."""


def find_lost_restriction(before: str, after: str, tools: Iterable[ToolSchema]) -> str | None:
    """The first such value of `before`, or word that rules one out, that `after` doesn't have; None: all are
    there."""
    lost = [
        one for one in entities.find_all_lost(before, after, tools) if entities.find_whole(after, one, 0) < 0
    ]
    language = detect_language(before) if lost else None
    if language is None:
        return None
    return next((one for one in lost if one.lower() in _DENIES or _restricts(before, one, language)), None)


def _restricts(text: str, value: str, language: Language) -> bool:
    if value.lower() in entities.LOGIC_WORDS:
        return False
    counts = any(map(str.isnumeric, value)) or value.lower() in entities.MEANING_WORDS
    return any(
        is_restricted(text, at, at + len(value), language)
        or (counts and is_limit(text, at, at + len(value), language))
        for at in _find_each(text, value)
    )


def _find_each(text: str, value: str) -> Iterator[int]:
    """Where the value stands, each time."""
    at = -1
    while (at := entities.find_whole(text, value, at + 1)) >= 0:
        yield at
