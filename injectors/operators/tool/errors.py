"""Messages in place of a tool's result: errors and missing prerequisites."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.stacks.errors import draw_error
from crosswind.injectors.stacks.kinds import find_kinds
from crosswind.injectors.stacks.model import LOCAL, ErrorKind, Shape, ToolKind
from crosswind.injectors.stacks.shapes import find_shape
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, ToolResultTarget

_failure = partial(operator, site=Site.TOOL_RESULT, recovery=Recovery.RETRY, effect=Effect.REPLACES)
_transient = partial(_failure, version=6, source="RobustBench-TC, table 1 and appendix G (Transition)")


@dataclass(frozen=True)
class TransientError:
    """A message that the call failed stands in place of the result.

    The words are those of the benchmark's appendix G (its table 1 has others). Where they don't fit the tool
    (a shell, a device, a computation, a database, an MCP server) they are those of such a system: a deviation
    from the benchmark, which says its own of every tool, as `form: paper` does. Severity: the probability
    that an eligible call fails so; the benchmark's own setting is severity 1 with `first_call: true`.
    """

    form: Literal["fitting", "paper", "stack"] = "fitting"
    """`fitting`: the benchmark's words (its appendix G fixes them) of what may have a provider, and of a
    shell, a device, a computation, a database or an MCP server what that system says itself. This deviates
    from the benchmark: a `cd` that its provider refuses gives the noise away. `paper`: the benchmark's words
    whatever the tool, to reproduce it to the letter; `stack`: in the format of the system behind the tool
    always, as `tool.execution_failure` has it."""

    kind: ClassVar[ErrorKind]
    paper: ClassVar[str]
    what: ClassVar[str]
    """Ends the event's note."""

    def __init_subclass__(cls) -> None:
        """What is said above of the words and of severity is said of each."""
        said = (TransientError.__doc__ or "").partition("\n\n")
        cls.__doc__ = "".join((cls.__doc__ or "", *said[1:]))

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        if not rng.chance(severity):
            return None
        if self.form == "paper" or (self.form == "fitting" and self._fits(target)):
            return {"text": self.paper}
        error = draw_error(target, rng, self.kind)
        return {"text": error.text, "stack": error.stack}

    def _fits(self, target: ToolResultTarget) -> bool:
        """Whether the benchmark's words may be those of the system behind the tool."""
        kinds = find_kinds(target, "")
        if self.paper.startswith("HTTP") and (ToolKind.MCP in kinds or find_shape(target.text) is Shape.MCP):
            return False
        return _NOT_REMOTE.isdisjoint(kinds)

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        return Result(
            draw["text"], f"A message that {self.what} stands in place of the result of {target.tool}."
        )


_NOT_REMOTE = frozenset({*LOCAL, ToolKind.SQL})
"""Systems that have no statuses of HTTP, no remote endpoint and no body to parse."""


@_transient("tool.timeout", aliases=("transient_timeout", "Timeout"))
class Timeout(TransientError):
    """A message that the call timed out stands in place of the result."""

    kind = ErrorKind.TIMEOUT
    what = "the call timed out"
    paper = (
        "Tool execution timed out after the configured request timeout. "
        "The remote endpoint did not respond within the allotted time."
    )


@_transient("tool.rate_limit", aliases=("transient_rate_limit", "RateLim"))
class RateLimit(TransientError):
    """A message that the rate limit was exceeded stands in place of the result."""

    kind = ErrorKind.RATE_LIMIT
    what = "the rate limit was exceeded"
    paper = (
        "HTTP 429 Too Many Requests. "
        "The provider rejected the call because the per-minute rate limit has been exceeded."
    )


@_transient("tool.auth_error", aliases=("transient_auth_error", "AuthErr"))
class AuthError(TransientError):
    """A message that the credentials were refused stands in place of the result."""

    kind = ErrorKind.UNAUTHORIZED
    what = "the credentials were refused"
    paper = (
        "HTTP 401 Unauthorized. "
        "The provider rejected the call because the supplied credentials are invalid or expired."
    )


@_transient("tool.server_error", aliases=("transient_server_error", "5xxErr"))
class ServerError(TransientError):
    """A message that the server failed stands in place of the result."""

    kind = ErrorKind.EXCEPTION
    what = "the server failed"
    paper = "HTTP 500 Internal Server Error. The remote endpoint failed to handle the request."


@_transient("tool.malformed_response", aliases=("transient_malformed_response", "Malform"))
class MalformedResponse(TransientError):
    """A message that the response was no JSON stands in place of the result."""

    kind = ErrorKind.MALFORMED
    what = "the response was no JSON"
    paper = "Malformed response from tool execution: the body could not be parsed as JSON."


@_transient("tool.schema_drift", aliases=("transient_schema_drift", "SchemaD"))
class SchemaDrift(TransientError):
    """A message that the response broke its declared schema stands in place of the result."""

    kind = ErrorKind.SCHEMA
    what = "the response broke its declared schema"
    paper = (
        "Schema validation failed: "
        "the response did not match the tool’s declared output schema (extra/missing fields)."
    )


Failure = Literal["401", "403", "408", "429", "unavailable", "uninitialised", "exception"]
FAILURES: tuple[Failure, ...] = ("401", "403", "408", "429", "unavailable", "uninitialised", "exception")
"""AgentNoiseBench's four status codes, then NoisyAgent's three failures."""


@_failure(
    "tool.execution_failure",
    aliases=("failure",),
    source="NoisyAgent section 3.1 (1); AgentNoiseBench section 2.2.1 and appendix B (Execution Failures)",
    version=6,
)
@dataclass(frozen=True)
class ExecutionFailure:
    """An error stands in place of the result: status 401, 403, 408 or 429, or the service is unavailable, is
    uninitialised, or raised an exception.

    It is in the format of a real system that fits the tool and the shape of its results: an API's problem
    details, a database's SQLSTATE, a shell's errno, a proxy's page, a traceback. The format is drawn once for
    each backend of a session, and each half of the phrase packs has formats of its own.

    Severity: the probability that an eligible call fails; which of the seven failures it meets is drawn
    uniformly, so that the four status codes are equally likely, as in AgentNoiseBench (0.7 a step there, with
    no bound on failures in a row; ours has one).
    """

    kinds: Annotated[tuple[Failure, ...], Field(min_length=1)] = FAILURES
    """Which failures there are to meet."""

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        if not rng.chance(severity):
            return None
        kind = rng.choice(self.kinds)
        error = draw_error(target, rng, ErrorKind(kind))
        return {"kind": kind, "stack": error.stack, "text": error.text}

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        return Result(draw["text"], f"The call of {target.tool} was made to fail: {draw['kind']}.")
