"""A tool call that timed out."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.tool.fixed_error import FixedError
from crosswind.injectors.targets import Recovery


@operator(
    "tool.timeout",
    site=Site.TOOL_RESULT,
    recovery=Recovery.RETRY,
    aliases=("transient_timeout", "Timeout"),
    source="RobustBench-TC, table 1 and appendix G (Transition)",
    fault=True,
)
class Timeout(FixedError):
    """A message that the call timed out stands in place of the result.

    The words are those of the benchmark's appendix G (its table 1 has others). Severity: the probability that
    an eligible call fails so. How often one call may fail, and in which order calls are hit, is the profile's
    matter (`bounds`, `when`); the benchmark's own setting is severity 1 with `first_call: true`.
    """

    text = (
        "Tool execution timed out after the configured request timeout. "
        "The remote endpoint did not respond within the allotted time."
    )
    what = "the call timed out"
