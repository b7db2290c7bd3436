"""A log so long that what matters is crowded out of the context."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.tool.insertion import is_prose, object_span, taken_keys, with_fields
from crosswind.injectors.operators.tool.low_value import LOG_LINES
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Recovery, Result, ToolResultTarget
from crosswind.injectors.text.json_payload import is_container, parsed

VOLUME = 16_000
"""Characters at severity 1: some 3,000 tokens in each result that is hit."""

KEYS = ("log", "trace", "diagnostics")


@operator(
    "tool.context_pressure",
    site=Site.TOOL_RESULT,
    recovery=Recovery.IGNORE,
    source="RobustBench-TC, appendix N (3), named there as future work; the form is ours",
)
class ContextPressure:
    """A result carries the service's log, so that the conversation grows and what matters is crowded out.

    Severity: the log has 16,000 x severity characters (up to the end of its last line), in every result that
    is hit; how often that is, is the profile's matter. It stands before or after the answer, as likely: in a
    field of the JSON object or of the array's first object, or as lines of plain text. Every true value keeps
    its bytes; other JSON is left alone.
    """

    def draw(self, target: ToolResultTarget, rng: Stream, severity: float) -> Draw | None:
        first, before = rng.integer(1_000, 9_000), rng.chance(0.5)
        value = parsed(target.text)
        span = object_span(target.text, value)
        free = [key for key in KEYS if key not in taken_keys(value)]
        if severity <= 0 or not ((free and span) or is_prose(value, target.text)):
            return None
        count = _count(first, VOLUME * severity)
        place = span[0 if before else 1] if span else None
        return {"at": place, "key": free[0], "before": before, "first": first, "count": count}

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        log = [_line(number) for number in range(draw["first"], draw["first"] + draw["count"])]
        if is_container(parsed(target.text)):
            text = with_fields(target.text, draw["at"], [(draw["key"], log)])
        else:
            text = "\n".join([*log, target.text] if draw["before"] else [target.text, *log])
        return Result(text, f"A log of {draw['count']} lines was added to the result of {target.tool}.")


def _line(number: int) -> str:
    return LOG_LINES[number % len(LOG_LINES)].format(number)


def _count(first: int, characters: float) -> int:
    """How many lines from number `first` on it takes to fill so many characters."""
    count, filled = 0, 0
    while filled < characters:
        filled += len(_line(first + count))
        count += 1
    return count
