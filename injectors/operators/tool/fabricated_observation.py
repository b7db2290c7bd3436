"""A tool's result that was made up."""

from __future__ import annotations

import json
import re
from typing import Any

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.tool.wrong_values import other
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Recovery, Result, ToolResultTarget
from crosswind.injectors.text.json_leaves import can_be_marked, changed, facts, leaves, marked, written
from crosswind.injectors.text.json_payload import is_container, parsed

FIELD, ADMISSION = "errors", ["the backend was not reached; the values shown were generated"]

_DATE_OR_TIME = re.compile(r"\d{4}-\d\d|\d\d?:\d\d|\d\d?[./]\d\d?[./]\d\d")


@operator(
    "tool.fabricated_observation",
    site=Site.TOOL_RESULT,
    recovery=Recovery.RETRY,
    source="RobustBench-TC, appendix N (1), named there as future work; the form is ours",
    fault=True,
)
class FabricatedObservation:
    """A plausible record that was made up stands in place of the true one.

    Severity: the probability that an eligible result is made up. The record has the true one's fields; every
    fact for which a false value of the same kind is at hand is false, and all digits of ids and codes are 0,
    so that none of them is anybody's. The agent can always tell: the ids are not those that it asked for, and
    `errors` says that the values were generated. Only JSON objects and arrays are made up.
    """

    def draw(self, target: ToolResultTarget, rng: Stream, severity: float) -> Draw | None:
        hit = rng.chance(severity)
        value = parsed(target.text)
        if not hit or not is_container(value) or not can_be_marked(value, FIELD):
            return None
        stated = facts(value, target)
        peers = [leaf for _, leaf in stated]
        false = [[place, other(leaf, peers, rng)] for place, leaf in stated]
        blank = [[place, _blanked(leaf)] for place, leaf in leaves(value) if _blanked(leaf) != leaf]
        edits = [one for one in false if one[1] is not None] + blank
        return {"leaves": edits} if edits else None

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        value: Any = changed(json.loads(target.text), draw["leaves"])
        text = written(marked(value, FIELD, ADMISSION), like=target.text)
        return Result(
            text, f"The result of {target.tool} was made up: {len(draw['leaves'])} values are false."
        )


def _blanked(leaf: Any) -> Any:
    """An id or code without its digits' meaning; anything else as it is."""
    if not isinstance(leaf, str) or _DATE_OR_TIME.search(leaf) or len(leaf.split()) != 1:
        return leaf
    return re.sub(r"[0-9]", "0", leaf)
