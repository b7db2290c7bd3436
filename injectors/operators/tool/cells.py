"""Maps drawn with one symbol a cell, such as a grid world's view."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosswind.injectors.text.graphemes import whole
from crosswind.injectors.text.json_leaves import MOST

_LETTERS = re.compile(r"[^\W\d_]{2,}")
_NUMBER = re.compile(r"[0-9]{2}")


def cells(text: str, least_rows: int = 1) -> list[tuple[int, list[str]]]:
    """The places of the map's symbols in the text, each with the other symbols beside it in its row; none
    where fewer than `least_rows` lines are rows. Of a large map the first 400 cells."""
    rows = list(_rows(text))
    if len(rows) < least_rows:
        return []
    found: list[tuple[int, list[str]]] = []
    for start, row in rows:
        for at, symbol in enumerate(row):
            if len(found) == MOST:
                return found
            if not symbol.isspace():
                near = [row[beside] for beside in (at - 1, at + 1) if 0 <= beside < len(row)]
                found.append((start + at, [one for one in near if one != symbol and not one.isspace()]))
    return found


def _rows(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for line in text.split("\n"):
        if _is_row(line):
            yield start, line
        start += len(line) + 1


def _is_row(line: str) -> bool:
    """Whether the line holds symbols rather than words: letters stand side by side only where they are
    capitals of at most two kinds."""
    runs = _LETTERS.findall(line)
    words = any(not run.isascii() or not run.isupper() or len(set(run)) > 2 for run in runs)
    return not words and not _NUMBER.search(line) and sum(map(len, line.split())) > 1 and _single(line)


def _single(line: str) -> bool:
    """Whether each symbol is one code point."""
    return line.isascii() or all(whole(line, at) == at for at in range(1, len(line)))
