"""A tool's response that could not be read."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.tool.fixed_error import FixedError
from crosswind.injectors.targets import Recovery


@operator(
    "tool.malformed_response",
    site=Site.TOOL_RESULT,
    recovery=Recovery.RETRY,
    aliases=("transient_malformed_response", "Malform"),
    source="RobustBench-TC, table 1 and appendix G (Transition)",
    fault=True,
)
class MalformedResponse(FixedError):
    """A message that the response was no JSON stands in place of the result.

    The words are those of the benchmark's appendix G (its table 1 has others). Severity: the probability that
    an eligible call fails so; the benchmark's own setting is severity 1 with `first_call: true`.
    """

    text = "Malformed response from tool execution: the body could not be parsed as JSON."
    what = "the response was no JSON"
