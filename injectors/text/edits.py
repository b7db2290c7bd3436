"""Changes of a text as stored data: what stood where, and what stands there now."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from crosswind.injectors.text.entities import Span


def make_edit(at: int, was: str, now: str) -> dict[str, Any]:
    """One change: `was` at position `at` gives way to `now`. An empty `was` is an insertion."""
    return {"at": at, "was": was, "now": now}


def apply_edits(text: str, edits: Iterable[Mapping[str, Any]]) -> str:
    """The text with the changes, which are in order and don't overlap."""
    pieces: list[str] = []
    end = 0
    for one in edits:
        pieces += (text[end : one["at"]], one["now"])
        end = one["at"] + len(one["was"])
    return "".join((*pieces, text[end:]))


def touches(protected: Sequence[Span], start: int, end: int) -> bool:
    """Whether [start, end) meets one of the spans, which are in order and disjoint."""
    last = bisect_left(protected, (end, -1)) - 1
    return last >= 0 and protected[last][1] > start


def splits(protected: Sequence[Span], at: int) -> bool:
    """Whether an insertion there would come inside a span."""
    return touches(protected, at - 1, at) and touches(protected, at, at + 1)


def find_unprotected(
    pattern: re.Pattern[str], text: str, protected: Sequence[Span]
) -> Iterator[re.Match[str]]:
    """The pattern's matches that meet no protected span."""
    spans = iter(protected)
    span = next(spans, None)
    for match in pattern.finditer(text):
        start, end = match.span()
        while span is not None and span[1] <= start:
            span = next(spans, None)
        if span is None or span[0] >= end:
            yield match


def compile_phrases(*words: str) -> re.Pattern[str]:
    """A pattern for whole words or phrases in either case; of several that begin alike, the longest."""
    return re.compile(rf"(?<![\w'’@#/.-]){any_of(words)}(?![\w'’@/-])", re.IGNORECASE)


def any_of(words: Iterable[str]) -> str:
    """A pattern for any of the words, the longest first. They are tried letter by letter: side by side, each
    place of a text would be held against all of them.
    """
    by_first: dict[str, list[str]] = {}
    for word in words:
        by_first.setdefault(word[:1], []).append(word[1:])
    ends = "" in by_first
    longer = "|".join(
        re.escape(first) + (any_of(rest) if any(rest) else "")
        for first, rest in sorted(by_first.items())
        if first
    )
    return f"(?:{longer}){'?' if ends else ''}"
