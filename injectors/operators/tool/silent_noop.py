"""A tool that reports success and did nothing."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Recovery, Result, ToolClass, ToolResultTarget
from crosswind.injectors.text.json_payload import is_container, parsed

ACKNOWLEDGEMENTS = ("OK", "Success.", "Done.", "Completed.")


@operator(
    "tool.silent_noop",
    site=Site.TOOL_RESULT,
    recovery=Recovery.RETRY,
    source="RobustBench-TC, appendix N (2), named there as future work; the form is ours",
    fault=True,
)
class SilentNoop:
    """A bare word of success stands in place of what was to be read: the tool did nothing and says it did.

    Severity: the probability that an eligible read does nothing. The agent can always tell: it asked for a
    JSON object or array, and got none. Writes are left alone: where their results are seen they have taken
    effect, and success would be the truth.
    """

    def draw(self, target: ToolResultTarget, rng: Stream, severity: float) -> Draw | None:
        hit, text = rng.chance(severity), rng.choice(ACKNOWLEDGEMENTS)
        reads = target.tool_class is ToolClass.READ_ONLY and is_container(parsed(target.text))
        return {"text": text} if hit and reads else None

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        return Result(draw["text"], f"The call of {target.tool} seemed to succeed and gave nothing.")
