"""A tool call that failed on the server."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.tool.fixed_error import FixedError
from crosswind.injectors.targets import Recovery


@operator(
    "tool.server_error",
    site=Site.TOOL_RESULT,
    recovery=Recovery.RETRY,
    aliases=("transient_server_error", "5xxErr"),
    source="RobustBench-TC, table 1 and appendix G (Transition)",
    fault=True,
)
class ServerError(FixedError):
    """A message that the server failed stands in place of the result.

    The words are those of the benchmark's appendix G (its table 1 has others). Severity: the probability that
    an eligible call fails so; the benchmark's own setting is severity 1 with `first_call: true`.
    """

    text = "HTTP 500 Internal Server Error. The remote endpoint failed to handle the request."
    what = "the server failed"
