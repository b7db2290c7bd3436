"""Sensor noise: readings that are misread or inexact, in results that say that they are uncertain."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.tool.values import (
    find_figures,
    find_neighbours,
    is_number,
    replace_spans,
    rewrite_json,
    scale,
)
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, ToolResultTarget
from crosswind.injectors.text.graphemes import find_boundary
from crosswind.injectors.text.json_leaves import MOST, Place, can_be_marked, list_facts
from crosswind.injectors.text.json_payload import is_container, parse_json

FIELD = "uncertain"
"""The field by which a JSON result says that it is uncertain, so that another look pays."""

MARK = " [uncertain reading]"
"""How plain text says so, at its end."""

MOST_LIKELY = 0.4
"""The largest share of misread values at severity 1; the paper's is 0.2, at severity 0.5."""

UNKNOWN = "?"
_WORD = re.compile(r"[^\W\d]+")


@operator(
    "tool.misread",
    site=Site.TOOL_RESULT,
    recovery=Recovery.RETRY,
    source="WildGrid, section 2.2 (3) (Noisy signals): per-cell noise, misread tiles and unknown symbols",
    effect=Effect.REPLACES,
)
class Misread:
    """Discrete values of a sensing result are misread as a neighbouring value or as `?`; another look draws
    again.

    Severity s: each value is misread with a probability of uniform(0, 0.4 x s), drawn for the whole result.
    Discrete values are the cells of a map (lines of single symbols, as plain text or in JSON strings) and
    JSON's words and truth values; a neighbour is the cell beside, the next word of the same vocabulary, or
    another word under the same field. Half of the misread values show as `?`, and all that have no
    neighbour. The agent can always tell: the result says that it is uncertain (in the paper it doesn't). Ids
    and what the call's arguments hold are read correctly.
    """

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        rate = rng.uniform(0, MOST_LIKELY * severity)
        value = parse_json(target.text)
        if not is_container(value):
            spans = [list(one) for one in _draw_misread_cells(target.text, 2, rng, rate)]
            return {"spans": spans} if spans and MARK not in target.text else None
        found = [one for one in list_facts(value, target) if isinstance(one[1], bool | str)]
        words: dict[str, list[str]] = {}
        for place, leaf in found:
            words.setdefault(_field(place), []).append(str(leaf))
        seen = [[place, _draw_misread(leaf, words[_field(place)], rng, rate)] for place, leaf in found]
        shown = [one for one in seen if one[1] is not None]
        return {"leaves": shown} if shown and can_be_marked(value, FIELD) else None

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        note = f"Values in the result of {target.tool} were misread."
        if "spans" in draw:
            return Result(replace_spans(target.text, draw["spans"]) + MARK, note)
        return Result(rewrite_json(target.text, draw["leaves"], FIELD), note)


def _field(place: Place) -> str:
    return next((key for key in reversed(place) if isinstance(key, str)), "")


def _draw_misread(leaf: bool | str, words: list[str], rng: SeededRandom, rate: float) -> bool | str | None:
    """Draw what is read in place of a JSON value; None where it is read correctly."""
    if isinstance(leaf, bool):
        return _draw_reading([not leaf], rng, rate)
    if _WORD.fullmatch(leaf):
        return _draw_reading(
            find_neighbours(leaf) or [word for word in words if word != leaf and _WORD.fullmatch(word)],
            rng,
            rate,
        )
    spans = _draw_misread_cells(leaf, 1, rng, rate)
    return replace_spans(leaf, spans) if spans else None


def _draw_misread_cells(text: str, rows: int, rng: SeededRandom, rate: float) -> list[tuple[int, int, str]]:
    seen = [(at, _draw_reading(beside, rng, rate)) for at, beside in find_cells(text, rows)]
    return [(at, at + 1, symbol) for at, symbol in seen if symbol is not None and symbol != text[at]]


def _draw_reading(beside: list[Any], rng: SeededRandom, rate: float) -> Any | None:
    """Draw what is read in place of a value with these neighbours; None where it is read correctly."""
    hit, unknown, which = rng.chance(rate), rng.chance(0.5), rng.uniform()
    if not hit:
        return None
    return UNKNOWN if unknown or not beside else beside[int(which * len(beside))]


@operator(
    "tool.numeric_noise",
    site=Site.TOOL_RESULT,
    recovery=Recovery.RETRY,
    source="ours (beyond the papers), after the noise of measuring instruments",
    effect=Effect.REPLACES,
)
class NumericNoise:
    """Each number of a result is multiplied by a factor of its own; another look draws again.

    Severity s: the factors are uniform(1 - s, 1 + s), so that s is the largest relative error. Whole numbers
    stay whole, others keep their decimals. Ids, codes, counts, years, dates and what the call's arguments
    hold are protected. The agent can always tell: the result says that it is uncertain (`"uncertain": true`;
    plain text ends in `[uncertain reading]`). As with every fault, a call that was off as often as the
    profile's bounds allow returns the truth.
    """

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        value = parse_json(target.text)
        low, high = 1 - severity, 1 + severity
        if is_container(value):
            if not can_be_marked(value, FIELD):
                return None
            noisy = [
                (place, leaf, _scale_number(leaf, rng.uniform(low, high)))
                for place, leaf in list_facts(value, target)
                if is_number(leaf)
            ]
            edits = [[place, found] for place, leaf, found in noisy if found not in (None, leaf)]
            return {"leaves": edits} if edits else None
        shown = [(one, scale(one[2], rng.uniform(low, high))) for one in find_figures(target)]
        spans = [[start, end, found] for (start, end, figure), found in shown if found != figure]
        return {"spans": spans} if spans and MARK not in target.text else None

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        count = len(draw.get("leaves") or draw["spans"])
        note = f"{count} {'number' if count == 1 else 'numbers'} in the result of {target.tool} made inexact."
        if "spans" in draw:
            return Result(replace_spans(target.text, draw["spans"]) + MARK, note)
        return Result(rewrite_json(target.text, draw["leaves"], FIELD), note)


def _scale_number(number: float, factor: float) -> float | None:
    """Multiply a number; keep it whole or with its decimals. None where Python can't hold the product."""
    try:
        found = number * factor
    except OverflowError:
        return None
    if not math.isfinite(found):
        return None
    if isinstance(number, int):
        return round(found)
    decimals = repr(number).partition(".")[2]
    return found if "e" in decimals or not decimals else round(found, len(decimals))


_LETTERS = re.compile(r"[^\W\d_]{2,}")
_NUMBER = re.compile(r"[0-9]{2}")


def find_cells(text: str, least_rows: int) -> list[tuple[int, list[str]]]:
    """The cells of a map drawn with one symbol a cell: each place in the text, with the other symbols beside
    it in its row. None where fewer than `least_rows` lines are rows. Of a large map the first 400 cells.
    """
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
    return line.isascii() or all(find_boundary(line, at) == at for at in range(1, len(line)))
