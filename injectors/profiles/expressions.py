"""Regular expressions of profiles. They are Python's, and a search for one ends at a deadline.

An expression that backtracks without end would stop all traffic. A linear-time engine has no lookaheads,
which the built-in profiles need.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from itertools import islice
from typing import Any, TypeVar

import regex

Found = TypeVar("Found")

_LONGEST = 4000
_LARGEST = 20_000
"""The engine writes counted repetitions out: so many characters and groups at most."""
_TOKEN = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|(?P<times>\{\d*,?\d*\})|(?P<opens>\()|(?P<closes>\))|.", re.DOTALL
)


class SearchLimit:
    """How long a search may take in this process."""

    seconds = 0.05
    failures = 3
    """Searches that took longer, after which an expression isn't searched for any more."""

    def __init__(self) -> None:
        self.late: Counter[str] = Counter()
        """The searches that took longer, by expression."""
        self.tell: Callable[[str, int], None] = lambda pattern, times: None
        """Called with each of them, and how many they are by now."""


LIMIT = SearchLimit()


def check_expression(pattern: str, or_else: str = "") -> str:
    """The pattern. ValueError where it is no regular expression, or one that is too large."""
    if len(pattern) > _LONGEST or _size(pattern) > _LARGEST:
        raise ValueError(
            f"too large a regular expression: {_LONGEST} characters at most, and {_LARGEST} once its "
            "repetitions are written out; shorten it, or write + for a large count"
        )
    try:
        re.compile(pattern)
        _compile(pattern)
    except (re.error, regex.error, OverflowError) as error:
        raise ValueError(f"no regular expression ({error}): fix it{or_else}") from error
    return pattern


def is_found(pattern: str, text: str) -> bool:
    """Whether the expression is found in the text; False at the deadline."""
    return _search(
        pattern, lambda compiled: compiled.search(text, timeout=LIMIT.seconds) is not None, missed=False
    )


def find_spans(pattern: str, text: str, most: int) -> list[tuple[int, int]]:
    """The spans of the expression's first group, or of all of it where it has none, that aren't empty; none
    at the deadline.
    """

    def find(compiled: Any) -> list[tuple[int, int]]:
        group = 1 if compiled.groups else 0
        spans = (match.span(group) for match in compiled.finditer(text, timeout=LIMIT.seconds))
        return list(islice((span for span in spans if span[1] > span[0]), most))

    return _search(pattern, find, missed=[])


def _search(pattern: str, search: Callable[[Any], Found], *, missed: Found) -> Found:
    if LIMIT.late[pattern] >= LIMIT.failures:
        return missed
    try:
        return search(_compile(pattern))
    except TimeoutError:
        LIMIT.late[pattern] += 1
        LIMIT.tell(pattern, LIMIT.late[pattern])
        return missed


@lru_cache(256)
def _compile(pattern: str) -> Any:
    return regex.compile(pattern)


def _size(pattern: str) -> int:
    """How many characters and groups an expression has once its counted repetitions are written out."""
    sizes, last = [0], 0
    for token in _TOKEN.finditer(pattern):
        if token["times"]:
            times = max((int(number) for number in re.findall(r"\d+", token["times"])), default=1)
            sizes[-1] += last * max(0, times - 1)
            last *= max(1, times)
        elif token["opens"]:
            sizes.append(0)
        elif token["closes"] and len(sizes) > 1:
            last = sizes.pop() + 1
            sizes[-1] += last
        else:
            last = 1
            sizes[-1] += 1
    return sum(sizes)
