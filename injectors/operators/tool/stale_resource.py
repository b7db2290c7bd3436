"""A tool's result from an old cache."""

from __future__ import annotations

import json
from typing import Any

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.tool.wrong_values import earlier, other
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Recovery, Result, ToolResultTarget
from crosswind.injectors.text.json_leaves import can_be_marked, changed, facts, marked, written
from crosswind.injectors.text.json_payload import is_container, parsed

FIELD = "stale"


@operator(
    "tool.stale_resource",
    site=Site.TOOL_RESULT,
    recovery=Recovery.RETRY,
    source="RobustBench-TC, appendix N (5), named there as future work; the form is ours",
    fault=True,
)
class StaleResource:
    """The call succeeds and shows the thing as it was some time ago.

    Severity: the probability that an eligible result is stale. A stale result shows one to three of its facts
    as they may have been: a status as the one before it in its lifecycle (`shipped` for `delivered`), a
    number as another of its size. The agent can always tell: the result says `"stale": true`. Only JSON
    objects and arrays with such facts can be stale.
    """

    def draw(self, target: ToolResultTarget, rng: Stream, severity: float) -> Draw | None:
        hit, count = rng.chance(severity), rng.integer(1, 3)
        value = parsed(target.text)
        if not hit or not is_container(value) or not can_be_marked(value, FIELD):
            return None
        old = [[place, _before(leaf, rng)] for place, leaf in rng.shuffled(facts(value, target))]
        edits = [one for one in old if one[1] is not None][:count]
        return {"leaves": edits} if edits else None

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        value: Any = changed(json.loads(target.text), draw["leaves"])
        text = written(marked(value, FIELD), like=target.text)
        count = len(draw["leaves"])
        what = "value is" if count == 1 else "values are"
        return Result(
            text, f"The result of {target.tool} came from an old cache: {count} {what} out of date."
        )


def _before(leaf: Any, rng: Stream) -> Any | None:
    is_number = isinstance(leaf, int | float) and not isinstance(leaf, bool)
    return other(leaf, (), rng) if is_number else earlier(leaf)
