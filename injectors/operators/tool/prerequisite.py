"""An error that another tool has to be called first."""

from __future__ import annotations

from collections.abc import Iterable

from crosswind.injectors.conversation import Site, ToolResult, ToolSchema, UserText
from crosswind.injectors.guard.tool_classes import classify
from crosswind.injectors.guard.tool_evidence import words_of
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.words.results import COMMANDS
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.stacks.errors import LOGINS, draw_error, logs_in
from crosswind.injectors.stacks.kinds import read_arguments
from crosswind.injectors.stacks.model import ErrorKind
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, ToolClass, ToolResultTarget
from crosswind.injectors.text.json_payload import parse_json
from crosswind.injectors.text.languages import UNABLE


@operator(
    "tool.prerequisite",
    site=Site.TOOL_RESULT,
    recovery=Recovery.RETRY,
    source="RobustBench-TC, appendix N (6), named there as future work; the form is ours",
    effect=Effect.REPLACES,
    version=9,
)
class Prerequisite:
    """An error that another tool has to be called first stands in place of the result. It says what is
    missing (the orders, a login) and what brings it. Where nobody has said what the login takes, the
    session has expired: an agent that cannot log in makes the call again.

    Severity: the probability that an eligible call fails so. What has to come first is another tool of
    the session's that brings what the call takes: the login of the same system, or what lists, finds or
    gets the things whose id the call needs. It only reads or logs in; what reads can be called with what
    the agent has: it needs no argument, or only those of the failed call, of earlier ones and of their
    results. The same tool is named until it has been called; from then on no call of the failed tool asks
    for it. No two tools ask for each other. Where there is no such tool, the result stays as it is, and
    the event says so. A single call never fails more often than the session's bounds allow: after that it
    succeeds when made again, in any case.
    """

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        if not rng.chance(severity):
            return None
        first = find_prerequisite(target)
        if first is None:
            return {"text": target.text, "first": None, UNABLE: NOTHING_FIRST}
        error = draw_error(target, rng, _find_kind(first, target), first.name)
        return {"text": error.text, "stack": error.stack, "first": first.name}

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        return Result(
            draw["text"], f"The call of {target.tool} was made to fail for want of a call of {draw['first']}."
        )


NOTHING_FIRST = "no declared tool plausibly has to be called before this one, or it was called"
"""Why a call is left alone, for the draw's member `unable`."""


def find_prerequisite(target: ToolResultTarget) -> ToolSchema | None:
    """The tool that has to be called before the target's; None where there is none, or it was called."""
    calls = [one.call.name for one in target.branch.earlier if isinstance(one, ToolResult)]
    before = set(calls[: calls.index(target.tool)] if target.tool in calls else calls)
    own = next((tool for tool in target.tools if tool.name == target.tool), ToolSchema(target.tool, "", {}))
    leading = [tool for tool in target.tools if tool.name not in before and _leads_to(tool, own)]
    has = read_arguments(target).keys() | _find_known(target) if leading else set()
    others = [tool for tool in leading if _may_come_first(tool, target, has)]
    rank, first = min(
        ((_rank(tool, target.branch.key), tool) for tool in others),
        key=lambda one: (one[0], one[1].name),
        default=(0.0, None),
    )
    if first is None or rank >= _rank(own, target.branch.key) or first.name in target.branch.called:
        return None
    return first


def _rank(tool: ToolSchema, key: str) -> float:
    """A tool's place in an order of the session: it never asks for one behind it. Logins come first, then,
    most often, those that need no argument."""
    place = SeededRandom(f"prerequisite|{key}|{tool.name}").uniform()
    if logs_in(tool.name):
        return place - 1
    return place if _needs(tool) else place / 4


def _may_come_first(tool: ToolSchema, target: ToolResultTarget, has: set[str]) -> bool:
    """Whether a tool logs in, or only reads and needs no argument besides those that the agent `has`."""
    if tool.name == target.tool:
        return False
    return logs_in(tool.name) or (
        _needs(tool) <= has and classify(tool.name, schemas=target.tools) is ToolClass.READ_ONLY
    )


def _find_known(target: ToolResultTarget) -> set[str]:
    """The names of what the agent has been told by an earlier result, or has told a call."""
    known: set[str] = set()
    for one in target.branch.earlier:
        if isinstance(one, ToolResult):
            for text in (one.call.arguments, one.text):
                value = parse_json(text)
                known.update(value if isinstance(value, dict) else ())
    return known


def _find_kind(first: ToolSchema, target: ToolResultTarget) -> ErrorKind:
    """What the error says. Where the user has not said what a login takes, the session was begun elsewhere,
    and has expired."""
    if not logs_in(first.name):
        return ErrorKind.PREREQUISITE
    known = _says_each(target, _needs(first) - read_arguments(target).keys())
    return ErrorKind.LOGIN if known else ErrorKind.EXPIRED


def _says_each(target: ToolResultTarget, wanted: Iterable[str]) -> bool:
    """Whether the user has spoken of each of these arguments: of a `user_id`, of a `password`."""
    texts = [one.text for one in target.branch.earlier if isinstance(one, UserText)]
    said = "".join(filter(str.isalnum, " ".join((target.branch.opening, *texts)).lower()))
    return all("".join(words_of(name)) in said for name in wanted)


def _leads_to(first: ToolSchema, own: ToolSchema) -> bool:
    """Whether one tool brings what the other takes: the login of the same system, or a look at the things
    whose ids it needs."""
    words, others = words_of(first.name), words_of(own.name)
    if not words or not others or not COMMANDS.isdisjoint((*words, *others)):
        return False
    named = {_singular(word) for word in others} - _SMALL
    if not LOGINS.isdisjoint(words):
        systems = {_singular(word) for word in words} - _OF_LOGINS
        return (
            logs_in(first.name)
            and (_LOGGING | _PUBLIC).isdisjoint(others)
            and not systems.isdisjoint(named | _said(own))
        )
    things = {_singular(word) for word in words[1:]} - _SMALL
    held = {
        _singular(words_of(name)[-2])
        for name in _needs(own)
        if len(words_of(name)) > 1 and words_of(name)[-1] in _IDS
    }
    about = {_singular(word) for word in others[1:]} - _SMALL
    if "id" in _needs(own):
        held |= about
    held -= _MEANS - about
    if held.isdisjoint(things):
        return False
    if words[0] in _LOOKING and not _needs(first) and _SAYING.isdisjoint(words) and others[0] not in _MAKING:
        return True
    lists = words[0] == "list" or words[0] in _FINDING or (words[0] in _GETTING and bool(_ALL & set(words)))
    return lists and others[0] not in (*_FINDING, "list")


def _said(tool: ToolSchema) -> set[str]:
    """The first words of a tool's description."""
    return {_singular(word.strip(".,:;()'\"").lower()) for word in tool.description[:400].split()[:SAID]}


SAID = 12
"""Words of a description that are taken to name its system."""


def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


_LOGGING = LOGINS | {"logout", "signout", "logged"}
_PUBLIC = frozenset(
    """nearest near zipcode airport airports exchange rate rates convert distance weather forecast help
    version""".split()
)
"""Words of what anybody may ask."""
_OF_LOGINS = LOGINS | frozenset(
    "get check is show verify status statu state user auth account current logged in a the api "
    "tool system".split()
)
"""Words of a login's name that don't say of which system it is."""
_FINDING = frozenset({"search", "find", "lookup", "browse"})
_MEANS = frozenset({"card", "credit", "account", "user", "customer", "payment", "token", "access"})
"""What a call takes to be done, and isn't about."""
_GETTING = frozenset({"get", "read", "load", "open", "show", "view", "fetch"})
_LOOKING = {"get", "read", "load", "open", "fetch", "list"}
"""First words of tools that, without an argument, give what others of the same things need."""
_MAKING = frozenset({"create", "place", "post", "send", "search", "find", "purchase"})
"""First words of tools that need nothing which is there before."""
_SAYING = frozenset({"sent", "status", "time", "version", "help"})
_ALL = frozenset({"all", "history", "list", "available"})
_IDS = frozenset({"id", "ids", "number", "key", "token"})
_SMALL = frozenset(
    "by of for in the a id and all my from to with at on details detail info history list available".split()
)


def _needs(tool: ToolSchema) -> set[str]:
    required = tool.parameters.get("required")
    return {str(name) for name in required} if isinstance(required, list) else set()
