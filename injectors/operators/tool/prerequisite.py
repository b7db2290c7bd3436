"""An error that something has to come first: another tool, or the start of the system."""

from __future__ import annotations

from crosswind.injectors.conversation import Site, ToolResult, ToolSchema
from crosswind.injectors.guard.tool_classes import classify
from crosswind.injectors.guard.tool_evidence import words_of
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.words.diagnostics import COMMANDS
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
    version=3,
)
class Prerequisite:
    """An error that something has to come first stands in place of the result.

    Severity: the probability that an eligible call fails so. What has to come first is another tool of the
    session's that plausibly does: a login, or what lists, finds or gets the things that the failed call is
    about. It only reads or logs in, and can be called with what the agent has: it needs no argument, or only
    those of the failed call. The same tool is named until it has been called; from then on no call of the
    failed tool asks for it. No two tools ask for each other. Where there is no such tool, the error says that
    the system isn't ready yet. A single call never fails more often than the session's bounds allow: after
    that it succeeds when made again, in any case.
    """

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        if not rng.chance(severity):
            return None
        first = find_prerequisite(target)
        kind = ErrorKind.UNINITIALISED if first is None else ErrorKind.PREREQUISITE
        error = draw_error(target, rng, kind, first or "")
        return {"text": error.text, "stack": error.stack, "first": first}

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        want = f"a call of {draw['first']}" if draw["first"] else "a system that is ready"
        return Result(draw["text"], f"The call of {target.tool} was made to fail for want of {want}.")


def find_prerequisite(target: ToolResultTarget) -> str | None:
    """The tool that has to be called before the target's; None where there is none, or it was called."""
    calls = [one.call.name for one in target.branch.earlier if isinstance(one, ToolResult)]
    before = set(calls[: calls.index(target.tool)] if target.tool in calls else calls)
    own = next((tool for tool in target.tools if tool.name == target.tool), ToolSchema(target.tool, "", {}))
    others = [
        tool
        for tool in target.tools
        if tool.name not in before and _may_come_first(tool, target) and _leads_to(tool, own)
    ]
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


def _leads_to(first: ToolSchema, own: ToolSchema) -> bool:
    """Whether it makes sense to call one tool before the other: a login, or a look at the things that the
    other is about, by its name or the ids that it takes."""
    words, others = words_of(first.name), words_of(own.name)
    if not COMMANDS.isdisjoint((*words, *others)):
        return False
    if not _LOGIN.isdisjoint(words):
        return _LOGIN.isdisjoint(others)
    things = {_singular(word) for word in words[1:]} - _SMALL
    named = {_singular(word) for word in others[1:]} - _SMALL
    held = {
        _singular(words_of(name)[-2])
        for name in _needs(own)
        if len(words_of(name)) > 1 and words_of(name)[-1] in _IDS
    }
    if words[:1] == ["list"] or words[0] in _FINDING:
        return others[0] not in (*_FINDING, "list") and not things.isdisjoint(named | held)
    return words[0] in ("get", "read", "load", "open") and len(things) == 1 and things <= held - named


def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


_LOGIN = frozenset({"login", "authenticate", "signin"})
_FINDING = frozenset({"search", "find", "lookup", "browse"})
_IDS = frozenset({"id", "number", "code", "name", "key"})
_SMALL = frozenset("by of for in the a id and all my from to with at on details detail info".split())


def _needs(tool: ToolSchema) -> set[str]:
    required = tool.parameters.get("required")
    return {str(name) for name in required} if isinstance(required, list) else set()
