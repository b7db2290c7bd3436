"""A tool's result with a part missing."""

from __future__ import annotations

import json
from typing import Any

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.tool.cut_ways import (
    is_word,
    list_ways,
)
from crosswind.injectors.operators.tool.result_cuts import ResultCut
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.stacks.kinds import find_kinds
from crosswind.injectors.stacks.model import Shape, Way
from crosswind.injectors.stacks.shapes import find_shape
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, ToolResultTarget
from crosswind.injectors.text.json_leaves import dump_like
from crosswind.injectors.text.json_payload import parse_json

LEAST, SPREAD = 0.2, 0.6
"""A result that is hit loses a share of uniform(0.2, 0.2 + 0.6 x severity)."""


@operator(
    "tool.incomplete",
    site=Site.TOOL_RESULT,
    recovery=Recovery.RETRY,
    aliases=("incomplete",),
    source="NoisyAgent section 3.1 (2); AgentNoiseBench section 2.2.1 and appendix B (Incomplete Responses)",
    effect=Effect.TRUNCATES,
    version=10,
)
class Incomplete:
    """A partial result, cut as its system cuts. A service gives a list's first page or first items, an object
    without some of its fields; it shortens a text, or JSON at a limit. A device lacks readings. What else
    isn't a service only has its output cut, with a mark: a command, a function.

    Severity is both how likely and how much: a result is hit with probability severity, and then loses a
    share of uniform(0.2, 0.2 + 0.6 x severity) of its characters, fields or elements. The agent can always
    tell: cut JSON doesn't parse, or a member says that there is more (`has_more`, `truncated`, `errors`); cut
    text and a cut list of texts say so, or plain text ends within a word. What says so is drawn once for each
    backend of a session. What no system cuts is left alone: a single word, a short answer of what is no
    service, a small record, the receipt of a change.
    """

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        text = target.text.strip()
        if not rng.chance(severity) or len(text) < 2 or is_word(text):
            return None
        lost = LEAST + SPREAD * severity * rng.uniform()
        way, order = rng.uniform(), rng.uniform()
        shape, value, kinds = find_shape(text), parse_json(text), find_kinds(target, "")
        ways = list_ways(target, text, value, kinds)
        if not ways:
            return None
        cut = ResultCut(target, rng, text, kinds, lost, order)
        drawn = cut.draw(ways[int(way * len(ways))])
        if drawn is None and shape is Shape.TEXT:
            return cut.draw_tail()
        return cut.draw_bytes() if drawn is None and Way.BYTES in ways else drawn

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        text = target.text.strip()
        if "keep" in draw:
            return Result(_cut(text, draw), f"The result of {target.tool} was cut off.")
        # A copy of its own, where a part of it changes in place.
        value: Any = json.loads(text) if "part" in draw else parse_json(text)
        if "part" in draw:
            part = value["content"][draw["part"]]
            part["text"] = _cut(part["text"], draw["cut"])
            note = f"A text of the result of {target.tool} was cut off."
        elif "string" in draw:
            key = draw["string"]
            value = {**value, key: _cut(value[key], draw["cut"])}
            note = f"The text in {key} of the result of {target.tool} was cut off."
        elif "drop" in draw:
            dropped = set(draw["drop"])
            kept = {
                key: None if key in dropped else one
                for key, one in value.items()
                if draw["null"] or key not in dropped
            }
            value = kept | draw["add"]
            fields = "field" if len(dropped) == 1 else "fields"
            note = f"The result of {target.tool} lost its {fields} {', '.join(draw['drop'])}."
        elif isinstance(value, list):
            note = f"The result of {target.tool} kept {draw['first']} of its {len(value)} elements."
            more = draw.get("more") or draw["add"]
            value = [*value[: draw["first"]], *([more] if more else [])]
        else:
            whole = value[draw["list"]]
            note = f"The result of {target.tool} kept {draw['first']} of {len(whole)} in {draw['list']}."
            more = [draw["more"]] if "more" in draw else []
            value = {**value, draw["list"]: [*whole[: draw["first"]], *more], **draw["add"]}
        return Result(dump_like(value, like=text) + draw.get("behind", ""), note)


def _cut(text: str, draw: Draw) -> str:
    return f"{text[: draw['keep']]}{draw['mark']}{text[draw['from'] :]}"
