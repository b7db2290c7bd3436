"""Rows as text in columns, and how wide a terminal is."""

from __future__ import annotations

import os
from collections.abc import Sequence

from crosswind.gateway.control_characters import escape_control_characters


def write_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """A line for each row; each column is as wide as its widest cell."""
    escaped = [[escape_control_characters(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*escaped, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in escaped
    ]


WIDTH = 80
_NARROWEST = 20


def find_width() -> int:
    """How wide text is folded: as the variable COLUMNS says, else 80 columns."""
    columns = os.environ.get("COLUMNS", "")
    return max(int(columns), _NARROWEST) if columns.isdecimal() and int(columns) else WIDTH
