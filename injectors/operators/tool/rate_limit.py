"""A tool call refused because too many were made."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.tool.fixed_error import FixedError
from crosswind.injectors.targets import Recovery


@operator(
    "tool.rate_limit",
    site=Site.TOOL_RESULT,
    recovery=Recovery.RETRY,
    aliases=("transient_rate_limit", "RateLim"),
    source="RobustBench-TC, table 1 and appendix G (Transition)",
    fault=True,
)
class RateLimit(FixedError):
    """A message that the rate limit was exceeded stands in place of the result.

    The words are those of the benchmark's appendix G (its table 1 has others). Severity: the probability that
    an eligible call fails so; the benchmark's own setting is severity 1 with `first_call: true`.
    """

    text = (
        "HTTP 429 Too Many Requests. "
        "The provider rejected the call because the per-minute rate limit has been exceeded."
    )
    what = "the rate limit was exceeded"
