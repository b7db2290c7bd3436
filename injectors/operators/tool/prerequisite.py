"""An error that another tool has to be called first."""

from __future__ import annotations

from crosswind.injectors.conversation import Site, ToolResult, ToolSchema
from crosswind.injectors.guard.tool_classes import classify
from crosswind.injectors.guard.tool_evidence import words_of
from crosswind.injectors.operator import operator
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.stacks.calls import read_arguments
from crosswind.injectors.stacks.errors import draw_error
from crosswind.injectors.stacks.model import ErrorKind
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, ToolClass, ToolResultTarget


@operator(
    "tool.prerequisite",
    site=Site.TOOL_RESULT,
    recovery=Recovery.RETRY,
    source="RobustBench-TC, appendix N (6), named there as future work; the form is ours",
    effect=Effect.REPLACES,
    version=2,
)
class Prerequisite:
    """An error that another tool must be called first stands in place of the result.

    Severity: the probability that an eligible call fails so. The other tool is one of the session's that only
    reads and can be called with what the agent has: it needs no argument, or only those of the failed call.
    The same tool is named until it has been called; from then on no call of the failed tool asks for it. No
    two tools ask for each other. A tool without such another is left alone. A single call never fails more
    often than the session's bounds allow: after that it succeeds when made again, in any case.
    """

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        if not rng.chance(severity) or (first := find_prerequisite(target)) is None:
            return None
        error = draw_error(target, rng, ErrorKind.PREREQUISITE, first)
        return {"text": error.text, "stack": error.stack, "first": first}

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        return Result(
            draw["text"], f"The call of {target.tool} was made to fail for want of a call of {draw['first']}."
        )


def find_prerequisite(target: ToolResultTarget) -> str | None:
    """The tool that has to be called before the target's; None where there is none, or it was called."""
    calls = [one.call.name for one in target.branch.earlier if isinstance(one, ToolResult)]
    before = set(calls[: calls.index(target.tool)] if target.tool in calls else calls)
    others = [tool for tool in target.tools if _may_come_first(tool, target) and tool.name not in before]
    own = next((tool for tool in target.tools if tool.name == target.tool), ToolSchema(target.tool, "", {}))
    ranks = {tool.name: _rank(tool, target.branch.key) for tool in others}
    first = min(ranks, key=lambda name: (ranks[name], name), default=None)
    if first is None or ranks[first] >= _rank(own, target.branch.key) or first in target.branch.called:
        return None
    return first


def _rank(tool: ToolSchema, key: str) -> float:
    """A tool's place in an order of the session: it never asks for one behind it. Those that need no argument
    come first, most often."""
    place = SeededRandom(f"prerequisite|{key}|{tool.name}").uniform()
    return place if _needs(tool) else place / 4


def _may_come_first(tool: ToolSchema, target: ToolResultTarget) -> bool:
    """Whether a tool only reads or logs in, and needs no argument besides those of the target's call."""
    if tool.name == target.tool or not _needs(tool) <= read_arguments(target).keys():
        return False
    reads = classify(tool.name, schemas=target.tools) is ToolClass.READ_ONLY
    return reads or not _LOGIN.isdisjoint(words_of(tool.name))


_LOGIN = frozenset({"login", "authenticate", "signin"})


def _needs(tool: ToolSchema) -> set[str]:
    required = tool.parameters.get("required")
    return {str(name) for name in required} if isinstance(required, list) else set()
