"""Numbers in a tool's result that are off by a random factor."""

from __future__ import annotations

import json
import math
from typing import Any

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.tool.figures import figures, rewritten, scaled
from crosswind.injectors.operators.tool.uncertain import FIELD, MARK
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Recovery, Result, ToolResultTarget
from crosswind.injectors.text.json_leaves import can_be_marked, changed, facts, marked, written
from crosswind.injectors.text.json_payload import is_container, parsed


@operator(
    "tool.numeric_noise",
    site=Site.TOOL_RESULT,
    recovery=Recovery.RETRY,
    source="ours (beyond the papers), after the noise of measuring instruments",
    fault=True,
)
class NumericNoise:
    """Each number of a result is multiplied by a factor of its own; another look draws again.

    Severity s: the factors are uniform(1 - s, 1 + s), so that s is the largest relative error. Whole numbers
    stay whole, others keep their decimals. Protected are ids, codes, counts, years, dates and what the call's
    arguments hold. The agent can always tell: the result says that it is uncertain (`"uncertain": true`;
    plain text ends in `[uncertain reading]`). As with every fault, a call that was off as often as the
    profile's bounds allow returns the truth.
    """

    def draw(self, target: ToolResultTarget, rng: Stream, severity: float) -> Draw | None:
        value = parsed(target.text)
        if is_container(value):
            if not can_be_marked(value, FIELD):
                return None
            noisy = [
                (place, leaf, _scaled(leaf, _factor(rng, severity)))
                for place, leaf in facts(value, target)
                if isinstance(leaf, int | float) and not isinstance(leaf, bool)
            ]
            edits = [[place, found] for place, leaf, found in noisy if found not in (None, leaf)]
            return {"leaves": edits} if edits else None
        shown = [(one, scaled(one[2], _factor(rng, severity))) for one in figures(target)]
        spans = [[start, end, found] for (start, end, figure), found in shown if found != figure]
        return {"spans": spans} if spans and MARK not in target.text else None

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        count = len(draw.get("leaves") or draw["spans"])
        note = f"{count} {'number' if count == 1 else 'numbers'} in the result of {target.tool} made inexact."
        if "spans" in draw:
            return Result(rewritten(target.text, draw["spans"]) + MARK, note)
        value: Any = changed(json.loads(target.text), draw["leaves"])
        return Result(written(marked(value, FIELD), like=target.text), note)


def _factor(rng: Stream, severity: float) -> float:
    return rng.uniform(1 - severity, 1 + severity)


def _scaled(number: float, factor: float) -> float | None:
    """The number times the factor, whole or with as many decimals as it has; None where Python can't hold
    it."""
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
