"""Long content of little use around a tool's answer."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.tool.insertion import is_prose, object_span, taken_keys, with_fields
from crosswind.injectors.operators.tool.low_value import FIELDS
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Recovery, Result, ToolResultTarget
from crosswind.injectors.text.json_payload import is_container, parsed


@operator(
    "tool.redundant",
    site=Site.TOOL_RESULT,
    recovery=Recovery.IGNORE,
    aliases=("tool-redundancy",),
    source="NoisyAgent section 3.1 (4); AgentNoiseBench section 2.2.1, appendix B (its example drops fields)",
)
class Redundant:
    """The answer stands among trace ids, notices and other fields that nobody asked for.

    Severity: the number of added fields is binomial with mean 14 x severity (14 trials); each stands before
    or after the answer, as likely. A JSON object gets them as fields, a JSON array of objects has them in its
    first object, plain text gets a line for each. Every true value keeps its bytes; other JSON (numbers,
    arrays of numbers) is left alone.
    """

    def draw(self, target: ToolResultTarget, rng: Stream, severity: float) -> Draw | None:
        count = sum(rng.uniform() < severity for _ in FIELDS)
        keys = rng.shuffled(list(FIELDS))
        value = parsed(target.text)
        free = [key for key in keys if key not in taken_keys(value)][:count]
        fields = [[key, FIELDS[key].format(rng.integer(100, 999))] for key in free]
        first = sum(rng.chance(0.5) for _ in fields)
        span = object_span(target.text, value)
        if not fields or not (span or is_prose(value, target.text)):
            return None
        return {"span": span and list(span), "before": fields[:first], "after": fields[first:]}

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        before, after = draw["before"], draw["after"]
        if is_container(parsed(target.text)):
            start, end = draw["span"]
            text = with_fields(with_fields(target.text, end, after), start, before)
        else:
            lines = [*map(_line, before), target.text, *map(_line, after)]
            text = "\n".join(lines)
        note = f"{len(before) + len(after)} parts of little use were added to the result of {target.tool}."
        return Result(text, note)


def _line(field: list[str]) -> str:
    return f"{field[0].replace('_', ' ')}: {field[1]}"
