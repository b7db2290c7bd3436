"""A tool call refused for its credentials, for once."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.tool.fixed_error import FixedError
from crosswind.injectors.targets import Recovery


@operator(
    "tool.auth_error",
    site=Site.TOOL_RESULT,
    recovery=Recovery.RETRY,
    aliases=("transient_auth_error", "AuthErr"),
    source="RobustBench-TC, table 1 and appendix G (Transition)",
    fault=True,
)
class AuthError(FixedError):
    """A message that the credentials were refused stands in place of the result.

    The words are those of the benchmark's appendix G (its table 1 has others). Severity: the probability that
    an eligible call fails so; the benchmark's own setting is severity 1 with `first_call: true`.
    """

    text = (
        "HTTP 401 Unauthorized. "
        "The provider rejected the call because the supplied credentials are invalid or expired."
    )
    what = "the credentials were refused"
