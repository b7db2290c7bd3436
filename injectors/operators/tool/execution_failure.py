"""A tool that could not be executed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Recovery, Result, ToolResultTarget

Kind = Literal["401", "403", "408", "429", "unavailable", "uninitialised", "exception"]

FAILURES: dict[Kind, str] = {
    "401": "HTTP 401 Unauthorized: the tool's backend did not accept this request's credentials.",
    "403": "HTTP 403 Forbidden: the tool's backend refused this request.",
    "408": "HTTP 408 Request Timeout: the tool's backend gave up waiting for the request.",
    "429": "HTTP 429 Too Many Requests: the tool's backend is limiting its load.",
    "unavailable": "ERROR: Service unavailable. The backend did not respond (HTTP 503).",
    "uninitialised": "ERROR: The tool is not initialised: its connection is still being set up.",
    "exception": "ERROR: The server raised an unhandled exception while it carried out the call.",
}
"""AgentNoiseBench's four status codes, then NoisyAgent's three failures; the sentences are ours."""


@operator(
    "tool.execution_failure",
    site=Site.TOOL_RESULT,
    recovery=Recovery.RETRY,
    aliases=("failure",),
    source="NoisyAgent section 3.1 (1); AgentNoiseBench section 2.2.1 and appendix B (Execution Failures)",
    fault=True,
)
@dataclass(frozen=True)
class ExecutionFailure:
    """An error stands in place of the result: status 401, 403, 408 or 429, or the service is unavailable,
    uninitialised, or met an exception on its side.

    Severity: the probability that an eligible call fails; which of the seven failures it meets is drawn
    uniformly, so that the four status codes are equally likely, as in AgentNoiseBench (0.7 a step there, with
    no bound on failures in a row; ours has one).
    """

    kinds: Annotated[tuple[Kind, ...], Field(min_length=1)] = tuple(FAILURES)
    """Which failures there are to meet."""

    def draw(self, target: ToolResultTarget, rng: Stream, severity: float) -> Draw | None:
        hit = rng.chance(severity)
        kind = rng.choice(self.kinds)
        return {"kind": kind, "text": FAILURES[kind]} if hit else None

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        return Result(draw["text"], f"The call of {target.tool} was made to fail: {draw['kind']}.")
