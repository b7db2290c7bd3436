"""A sensor's result of which some values are misread."""

from __future__ import annotations

import json
import re
from typing import Any

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.tool.cells import cells
from crosswind.injectors.operators.tool.figures import rewritten
from crosswind.injectors.operators.tool.uncertain import FIELD, MARK
from crosswind.injectors.operators.tool.wrong_values import neighbours
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Recovery, Result, ToolResultTarget
from crosswind.injectors.text.json_leaves import Place, can_be_marked, changed, facts, marked, written
from crosswind.injectors.text.json_payload import is_container, parsed

MOST_LIKELY = 0.4
"""The largest share of misread values at severity 1; the paper's is 0.2, at severity 0.5."""

UNKNOWN = "?"
_WORD = re.compile(r"[^\W\d]+")


@operator(
    "tool.misread",
    site=Site.TOOL_RESULT,
    recovery=Recovery.RETRY,
    source="WildGrid, section 2.2 (3) (Noisy signals): per-cell noise, misread tiles and unknown symbols",
    fault=True,
)
class Misread:
    """Discrete values of a sensing result are misread as a neighbouring value or as `?`; another look draws
    again.

    Severity s: each value is misread with a probability of uniform(0, 0.4 x s), drawn for the whole result.
    Discrete values are the cells of a map (lines of single symbols, as plain text or in JSON strings) and
    JSON's words and truth values; neighbouring is the cell beside, the next word of the same vocabulary, or
    another word under the same field. Half of the misread values show as `?`, and all that have no
    neighbour. The agent can always tell: the result says that it is uncertain (in the paper it doesn't). Ids
    and what the call's arguments hold are read right.
    """

    def draw(self, target: ToolResultTarget, rng: Stream, severity: float) -> Draw | None:
        rate = rng.uniform(0, MOST_LIKELY * severity)
        value = parsed(target.text)
        if not is_container(value):
            spans = [list(one) for one in _misread_cells(target.text, 2, rng, rate)]
            return {"spans": spans} if spans and MARK not in target.text else None
        found = [one for one in facts(value, target) if isinstance(one[1], bool | str)]
        words: dict[str, list[str]] = {}
        for place, leaf in found:
            words.setdefault(_field(place), []).append(str(leaf))
        seen = [[place, _misread(leaf, words[_field(place)], rng, rate)] for place, leaf in found]
        shown = [one for one in seen if one[1] is not None]
        return {"leaves": shown} if shown and can_be_marked(value, FIELD) else None

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        note = f"Values in the result of {target.tool} were misread."
        if "spans" in draw:
            return Result(rewritten(target.text, draw["spans"]) + MARK, note)
        value: Any = changed(json.loads(target.text), draw["leaves"])
        return Result(written(marked(value, FIELD), like=target.text), note)


def _field(place: Place) -> str:
    return next((key for key in reversed(place) if isinstance(key, str)), "")


def _misread(leaf: bool | str, words: list[str], rng: Stream, rate: float) -> bool | str | None:
    """What is read in place of a JSON value, or None where it is read right."""
    if isinstance(leaf, bool):
        return _seen([not leaf], rng, rate)
    if _WORD.fullmatch(leaf):
        return _seen(
            neighbours(leaf) or [word for word in words if word != leaf and _WORD.fullmatch(word)], rng, rate
        )
    spans = _misread_cells(leaf, 1, rng, rate)
    return rewritten(leaf, spans) if spans else None


def _misread_cells(text: str, rows: int, rng: Stream, rate: float) -> list[tuple[int, int, str]]:
    seen = [(at, _seen(beside, rng, rate)) for at, beside in cells(text, rows)]
    return [(at, at + 1, symbol) for at, symbol in seen if symbol is not None and symbol != text[at]]


def _seen(beside: list[Any], rng: Stream, rate: float) -> Any | None:
    """What is seen in place of a value with these neighbours, or None where it is seen right."""
    hit, unknown, which = rng.chance(rate), rng.chance(0.5), rng.uniform()
    if not hit:
        return None
    return UNKNOWN if unknown or not beside else beside[int(which * len(beside))]
