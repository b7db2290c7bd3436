"""A tool call that timed out."""

from __future__ import annotations

from injectors.conversation import Site
from injectors.operator import Draw, Recovery, Result, ToolResultTarget, operator
from injectors.streams import Stream

TIMED_OUT = (
    "Tool execution timed out after the configured request timeout. "
    "The remote endpoint did not respond within the allotted time."
)
"""RobustBench-TC, appendix G, verbatim (its table 1 words it otherwise)."""


@operator(
    "tool.timeout",
    site=Site.TOOL_RESULT,
    recovery=Recovery.RETRY,
    aliases=("transient_timeout", "Timeout"),
    source="RobustBench-TC, table 1 and appendix G (Transition)",
    fault=True,
)
class Timeout:
    """A message that the call timed out stands in place of the result.

    Severity: the probability that an eligible call fails so. How often one call may fail, and in which order
    calls are hit, is the profile's matter (`bounds`, `when`); the benchmark's own setting is severity 1 with
    `first_call: true`.
    """

    def draw(self, target: ToolResultTarget, rng: Stream, severity: float) -> Draw | None:
        return {"text": TIMED_OUT} if rng.chance(severity) else None

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        return Result(
            draw["text"], f"The result of {target.tool} was replaced by a message that the call timed out."
        )
