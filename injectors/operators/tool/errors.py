"""Messages in place of a tool's result: errors, missing prerequisites, and a success that gives nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from crosswind.injectors.conversation import Site
from crosswind.injectors.guard.tool_classes import classify
from crosswind.injectors.operator import Registered, operator, register
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, ToolClass, ToolResultTarget
from crosswind.injectors.text.json_payload import is_container, parse_json


class FixedError:
    """One message in place of the result, with probability severity. `what` ends the event's note."""

    def __init__(self, what: str, text: str) -> None:
        self.what, self.text = what, text

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        return {"text": self.text} if rng.chance(severity) else None

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        return Result(
            draw["text"], f"The result of {target.tool} was replaced by a message that {self.what}."
        )


def _register(name: str, aliases: tuple[str, ...], what: str, text: str) -> None:
    documentation = (
        f"A message that {what} stands in place of the result.\n\n"
        "The words are those of the benchmark's appendix G (its table 1 has others). Severity: the "
        "probability that an eligible call fails so; the benchmark's own setting is severity 1 with "
        "`first_call: true`."
    )
    register(
        Registered(
            name,
            Site.TOOL_RESULT,
            Recovery.RETRY,
            FixedError(what, text),
            aliases,
            source="RobustBench-TC, table 1 and appendix G (Transition)",
            effect=Effect.REPLACES,
            documentation=documentation,
        )
    )


_register(
    "tool.timeout",
    ("transient_timeout", "Timeout"),
    "the call timed out",
    "Tool execution timed out after the configured request timeout. "
    "The remote endpoint did not respond within the allotted time.",
)
_register(
    "tool.rate_limit",
    ("transient_rate_limit", "RateLim"),
    "the rate limit was exceeded",
    "HTTP 429 Too Many Requests. "
    "The provider rejected the call because the per-minute rate limit has been exceeded.",
)
_register(
    "tool.auth_error",
    ("transient_auth_error", "AuthErr"),
    "the credentials were refused",
    "HTTP 401 Unauthorized. "
    "The provider rejected the call because the supplied credentials are invalid or expired.",
)
_register(
    "tool.server_error",
    ("transient_server_error", "5xxErr"),
    "the server failed",
    "HTTP 500 Internal Server Error. The remote endpoint failed to handle the request.",
)
_register(
    "tool.malformed_response",
    ("transient_malformed_response", "Malform"),
    "the response was no JSON",
    "Malformed response from tool execution: the body could not be parsed as JSON.",
)
_register(
    "tool.schema_drift",
    ("transient_schema_drift", "SchemaD"),
    "the response broke its declared schema",
    "Schema validation failed: "
    "the response did not match the tool’s declared output schema (extra/missing fields).",
)


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
    effect=Effect.REPLACES,
)
@dataclass(frozen=True)
class ExecutionFailure:
    """An error stands in place of the result: status 401, 403, 408 or 429, or the service is unavailable, is
    uninitialised, or raised an exception.

    Severity: the probability that an eligible call fails; which of the seven failures it meets is drawn
    uniformly, so that the four status codes are equally likely, as in AgentNoiseBench (0.7 a step there, with
    no bound on failures in a row; ours has one).
    """

    kinds: Annotated[tuple[Kind, ...], Field(min_length=1)] = tuple(FAILURES)
    """Which failures there are to meet."""

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        if not rng.chance(severity):
            return None
        kind = rng.choice(self.kinds)
        return {"kind": kind, "text": FAILURES[kind]}

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        return Result(draw["text"], f"The call of {target.tool} was made to fail: {draw['kind']}.")


MISSING = (
    "HTTP 412 Precondition Failed: this call needs {} to have completed first. After that, make it again."
)
SESSION = "the set-up of the session"


@operator(
    "tool.prerequisite",
    site=Site.TOOL_RESULT,
    recovery=Recovery.RETRY,
    source="RobustBench-TC, appendix N (6), named there as future work; the form is ours",
    effect=Effect.REPLACES,
)
class Prerequisite:
    """An error that another call must come first stands in place of the result.

    Severity: the probability that an eligible call fails so. The prerequisite is drawn from the other
    declared tools whose names say that they only read, so that nothing is written because of noise; where
    there is none, it is the session's set-up. The call succeeds when made again, whether or not the agent
    called the prerequisite in between.
    """

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        if not rng.chance(severity):
            return None
        which = rng.uniform()
        names = [tool.name for tool in target.tools if tool.name != target.tool]
        reading = [name for name in names if classify(name) is ToolClass.READ_ONLY]
        first = f"a call of {reading[int(which * len(reading))]}" if reading else SESSION
        return {"text": MISSING.format(first), "first": first}

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        return Result(
            draw["text"], f"The call of {target.tool} was made to fail for want of {draw['first']}."
        )


ACKNOWLEDGEMENTS = ("OK", "Success.", "Done.", "Completed.")


@operator(
    "tool.silent_noop",
    site=Site.TOOL_RESULT,
    recovery=Recovery.RETRY,
    source="RobustBench-TC, appendix N (2), named there as future work; the form is ours",
    effect=Effect.REPLACES,
)
class SilentNoop:
    """A bare word of success stands in place of the data: the tool did nothing and says that it did.

    Severity: the probability that an eligible read does nothing. The agent can always tell: it asked for a
    JSON object or array, and got none. Writes are left alone: where their results are seen they have taken
    effect, and success would be the truth.
    """

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        if not rng.chance(severity) or target.tool_class is not ToolClass.READ_ONLY:
            return None
        text = rng.choice(ACKNOWLEDGEMENTS)
        return {"text": text} if is_container(parse_json(target.text)) else None

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        return Result(draw["text"], f"The call of {target.tool} seemed to succeed and gave nothing.")
