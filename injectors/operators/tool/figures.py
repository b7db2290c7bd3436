"""Figures in plain text, such as a passage or a report holds."""

from __future__ import annotations

import re
from collections.abc import Iterable

from crosswind.injectors.targets import ToolResultTarget
from crosswind.injectors.text.json_leaves import MOST, asked_for

_FIGURE = re.compile(r"(?<![\w#.,:/@\-\\])[0-9]{1,12}(?:\.[0-9]{1,6})?(?![\w:/@\-\\]|[.,][0-9\w])")
_YEAR = re.compile(r"1[5-9][0-9][0-9]|20[0-9][0-9]")

Edit = tuple[int, int, str]
"""Where a figure stands, [start, end), and what is to stand there."""


def figures(target: ToolResultTarget) -> list[tuple[int, int, str]]:
    """The numbers that stand alone, with their spans: no parts of ids, dates, times or paths, no years,
    nothing that the call's arguments hold."""
    found = [(match.start(), match.end(), match.group()) for match in _FIGURE.finditer(target.text)]
    return [one for one in found[:MOST] if not _YEAR.fullmatch(one[2]) and not asked_for(one[2], target)]


def rewritten(text: str, edits: Iterable[Edit]) -> str:
    """The text with these figures in place of those that stand there."""
    out, at = [], 0
    for start, end, figure in edits:
        out += [text[at:start], figure]
        at = end
    return "".join([*out, text[at:]])


def scaled(figure: str, factor: float) -> str:
    """The figure times the factor, with as many decimals as it has."""
    decimals = len(figure.partition(".")[2])
    return f"{float(figure) * factor:.{decimals}f}"
