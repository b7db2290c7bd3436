"""Tables in plain text: their headers, and the cells of their rows."""

from __future__ import annotations

import re

_CELL = re.compile(r"[^\W\d_][\w .%()/°#-]{0,24}")
_COLUMNS = "  "
"""Columns that stand apart: `docker ps`."""
_DELIMITERS = ("|", "\t", ";", ",", _COLUMNS)
_APART = re.compile(r"\S+(?: \S+)*")


def read_header(line: str) -> tuple[str, list[str]]:
    """The delimiter and the names of a line that may be a table's header."""
    for delimiter in _DELIMITERS:
        if delimiter in line:
            names = [line[start:end] for start, end in split_row(line, delimiter)]
            least = 3 if delimiter in (",", _COLUMNS) else 2
            if len(names) >= least and all(map(_CELL.fullmatch, names)):
                return delimiter, names
    return "", []


def split_row(line: str, delimiter: str) -> list[tuple[int, int]]:
    """The spans of a row's cells, without the space around them."""
    if delimiter == _COLUMNS:
        return [match.span() for match in _APART.finditer(line)]
    spans: list[tuple[int, int]] = []
    at = 0
    for part in line.split(delimiter):
        bare = part.strip()
        start = at + (len(part) - len(part.lstrip()) if bare else 0)
        spans.append((start, start + len(bare)))
        at += len(part) + 1
    framed = delimiter == "|" and len(spans) > 2 and line.lstrip().startswith("|")
    return spans[1:-1] if framed else spans
