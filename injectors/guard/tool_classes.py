"""What a tool does to the world, and which noise that allows.

In order of trust: what the operator declares (the session's table, the configuration's, the profile's), then
what the tool itself says (`tool_evidence`). What its calls showed on the branch at hand can only lower the
latter (`tool_observation`). Everything else is unknown, and unknown is treated as destructive: on the model
leg a result is destroyed after the call took effect, so a retry would repeat the effect.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache

import msgspec

from crosswind.injectors.conversation import ToolList, ToolSchema
from crosswind.injectors.guard.tool_evidence import classify_by_evidence, find_writing_evidence
from crosswind.injectors.targets import Effect, ToolClass

FIRST_VERBS = frozenset({"get", "list", "search", "find", "lookup", "read", "check", "calculate"})
"""First words that made a tool read-only before tools' other words counted."""

_JOINED = frozenset({"and", "or", "then"})
_PARTICLES = {"check": frozenset({"in", "out", "off"})}
_SEGMENT = re.compile(r"\.|:|/|__")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

ASSUMED_REPLAYABLE = (
    "Assumed replayable: the tool may change something, and the same call made again does it again, unless "
    "its environment takes that back."
)
"""The sentence for a result destroyed on an assumption that the operator of the gateway accepted."""


@lru_cache(maxsize=4096)
def classify_by_first_word(tool: str) -> ToolClass:
    """The class by the rule of plans from before evidence counted, and of draws that name a tool."""
    segments = [segment for segment in _SEGMENT.split(tool) if segment]
    words = [word.lower() for word in _WORD.findall(segments[-1])] if segments else []
    if not words or words[0] not in FIRST_VERBS or _JOINED.intersection(words):
        return ToolClass.UNKNOWN
    if len(words) > 1 and words[1] in _PARTICLES.get(words[0], frozenset()):
        return ToolClass.UNKNOWN
    return ToolClass.READ_ONLY


def find_declared(tool: str, table: Mapping[str, str]) -> ToolClass | None:
    """The class that a table gives a tool. An exact name goes before a glob, and globs go in the table's
    order."""
    if tool in table:
        return ToolClass(table[tool])
    for pattern, tool_class in table.items():
        if fnmatchcase(tool, pattern):
            return ToolClass(tool_class)
    return None


def classify(
    tool: str, overrides: Mapping[str, str] | None = None, schemas: Iterable[ToolSchema] = ()
) -> ToolClass:
    """The tool's class: by the operator's table, else by evidence. Of several tools declared under its name,
    the least trusted counts."""
    declared = find_declared(tool, overrides) if overrides else None
    if declared is not None:
        return declared
    known: dict[str, ToolClass] = schemas.classes if isinstance(schemas, ToolList) else {}
    if tool in known:
        return known[tool]
    found = [classify_by_evidence(tool, schema) for schema in schemas if schema.name == tool]
    if not found:
        return classify_by_evidence(tool)  # Not kept: calls may name any tool.
    known[tool] = min(found, key=_TRUST.__getitem__)
    return known[tool]


def explain_writing(tool: str, schemas: Iterable[ToolSchema] = ()) -> str:
    """What says that an undeclared tool writes: the word, and the text that has it. Empty if nothing does."""
    found = (find_writing_evidence(tool, schema) for schema in schemas if schema.name == tool)
    return next(filter(None, found), "") or find_writing_evidence(tool)


_TRUST = {
    ToolClass.DESTRUCTIVE: 0,
    ToolClass.UNKNOWN: 1,
    ToolClass.IDEMPOTENT: 2,
    ToolClass.READ_ONLY: 3,
}


def merge_tables(*tables: Mapping[str, ToolClass] | None) -> dict[str, str]:
    """One table out of several, the strongest first: no entry of a weaker one is before a stronger one's that
    matches the same tool."""
    merged: dict[str, str] = {}
    for table in tables:
        stronger = list(merged)
        for pattern, tool_class in (table or {}).items():
            if not any(fnmatchcase(pattern, one) for one in stronger):
                merged[pattern] = ToolClass(tool_class).value
    return merged


def is_repeatable(tool_class: ToolClass) -> bool:
    """Whether a call made again does no more than the first."""
    return tool_class in _REPEATABLE


def may_fault(tool_class: ToolClass, assume_tools: str) -> bool:
    """Whether a result may be destroyed on the model leg, where the agent's retry repeats the call."""
    if assume_tools == "replayable":
        return True
    return tool_class in _REPEATABLE


_REPEATABLE = frozenset((ToolClass.READ_ONLY, ToolClass.IDEMPOTENT))


class Permission(msgspec.Struct, frozen=True, gc=False):
    """Whether a tool's class allows an effect. `if_read_elsewhere`: only where a read holds what is lost."""

    allowed: bool
    if_read_elsewhere: bool = False


_ALLOWED, _IF_READ_ELSEWHERE, _FORBIDDEN = Permission(True), Permission(True, True), Permission(False)


def permit(effect: Effect, tool_class: ToolClass, assume_tools: str) -> Permission:
    """Which noise a tool's class allows on the model leg, where the call has always happened."""
    if effect in (Effect.ADDS, Effect.DELAYS, Effect.REWORDS) or may_fault(tool_class, assume_tools):
        return _ALLOWED
    if effect in (Effect.FALSIFIES, Effect.TRUNCATES) and tool_class is ToolClass.UNKNOWN:
        return _IF_READ_ELSEWHERE
    return _FORBIDDEN
