"""A tool's result with a part missing."""

from __future__ import annotations

import json
import math
from typing import Any

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, ToolResultTarget
from crosswind.injectors.text.graphemes import find_boundary
from crosswind.injectors.text.json_leaves import dump_like
from crosswind.injectors.text.json_payload import FAULT_KEYS, is_container, parse_json

LEAST, SPREAD = 0.2, 0.6
"""A result that is hit loses a share of uniform(0.2, 0.2 + 0.6 x severity)."""

CUT_MARK = " [truncated]"
"""How plain text says that it was cut. JSON needs no mark, since it no longer parses."""


@operator(
    "tool.incomplete",
    site=Site.TOOL_RESULT,
    recovery=Recovery.RETRY,
    aliases=("incomplete",),
    source="NoisyAgent section 3.1 (2); AgentNoiseBench section 2.2.1 and appendix B (Incomplete Responses)",
    effect=Effect.TRUNCATES,
)
class Incomplete:
    """A partial result: JSON cut off in the middle, an object without some of its fields, a list without its
    end.

    Severity is both how likely and how much: a result is hit with probability severity, and then loses a
    share of uniform(0.2, 0.2 + 0.6 x severity) of its characters (cut), fields or elements. The agent can
    always tell: a cut result is no longer JSON (plain text ends in `[truncated]`), an object that lost
    fields says `"incomplete": true`, a list that lost its end closes with `{"truncated": true}`.
    """

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        text = target.text.strip()
        if not rng.chance(severity) or len(text) < 2:
            return None
        lost = LEAST + SPREAD * severity * rng.uniform()
        way, order = rng.uniform(), rng.uniform()
        value = parse_json(text)
        if is_container(value) and value and way < 0.5 and _can_be_marked(value):
            return _drop_parts(value, lost, order)
        return _cut(text, value, lost)

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        text = target.text.strip()
        if "keep" in draw:
            return Result(text[: draw["keep"]] + draw["mark"], f"The result of {target.tool} was cut off.")
        value: Any = json.loads(text)
        if isinstance(value, dict):
            kept: Any = {key: value[key] for key in value if key not in draw["drop"]} | {"incomplete": True}
            note = f"The result of {target.tool} lost its fields {', '.join(draw['drop'])}."
        else:
            kept = [*value[: draw["first"]], {"truncated": True}]
            note = f"The result of {target.tool} kept {draw['first']} of its {len(value)} elements."
        return Result(dump_like(kept, like=text), note)


def _can_be_marked(value: Any) -> bool:
    """Whether the mark of an incomplete result would be new: a clean result may already say `truncated`."""
    last = value if isinstance(value, dict) else value[-1]
    return not (isinstance(last, dict) and FAULT_KEYS.intersection(last))


def _drop_parts(value: Any, lost: float, order: float) -> Draw:
    count = max(1, min(len(value), round(lost * len(value))))
    if isinstance(value, list):
        return {"first": len(value) - count}
    keys = list(value)
    start = math.floor(order * len(keys))
    dropped = {keys[(start + step) % len(keys)] for step in range(count)}
    return {"drop": [key for key in keys if key in dropped]}


def _cut(text: str, value: Any, lost: float) -> Draw:
    keep = max(1, min(len(text) - 1, round((1 - lost) * len(text))))
    keep = _find_word_end(text, keep)
    return {"keep": find_boundary(text, keep) or keep, "mark": "" if is_container(value) else CUT_MARK}


def _find_word_end(text: str, keep: int) -> int:
    """The nearest place before `keep` that breaks no word, id or number in two; `keep` if none is near."""
    for at in range(keep, max(0, keep - 40), -1):
        if text[at - 1] in " \t\n,:[{" or text[at] in " \t\n,:]}":
            return at
    return keep
