"""A tool that fails because something was to be done before."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.guard.tool_classes import classify
from crosswind.injectors.operator import operator
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Recovery, Result, ToolClass, ToolResultTarget

MISSING = (
    "HTTP 412 Precondition Failed: this call needs {} to have completed first. After that, make it again."
)
SESSION = "the set-up of the session"


@operator(
    "tool.prerequisite",
    site=Site.TOOL_RESULT,
    recovery=Recovery.RETRY,
    source="RobustBench-TC, appendix N (6), named there as future work; the form is ours",
    fault=True,
)
class Prerequisite:
    """An error that something was to come first stands in place of the result.

    Severity: the probability that an eligible call fails so. The prerequisite is drawn from the other
    declared tools whose names say that they only read, so that nothing is written because of noise; where
    there is none, it is the session's set-up. The call made again succeeds, whether or not the agent called
    the prerequisite in between.
    """

    def draw(self, target: ToolResultTarget, rng: Stream, severity: float) -> Draw | None:
        hit, which = rng.chance(severity), rng.uniform()
        names = [tool.name for tool in target.tools if tool.name != target.tool]
        reading = [name for name in names if classify(name) is ToolClass.READ_ONLY]
        first = f"a call of {reading[int(which * len(reading))]}" if reading else SESSION
        return {"text": MISSING.format(first), "first": first} if hit else None

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        return Result(
            draw["text"], f"The call of {target.tool} was made to fail for want of {draw['first']}."
        )
