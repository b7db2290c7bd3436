"""What a tool does to the world, judged from the operator's table and, conservatively, from the tool's name.

In order of trust: the profile's `tool_classes` table (names or globs), then the name's first word. Everything
else is unknown, and unknown is treated as destructive: on the model leg a result is destroyed after the call
took effect, so a retry would repeat the effect.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import lru_cache

from crosswind.injectors.targets import ToolClass

READING_VERBS = frozenset({"get", "list", "search", "find", "lookup", "read", "check", "calculate"})
"""First words that make a tool read-only: `get_order`, `getOrder`, `orders.get`."""

_JOINED = frozenset({"and", "or", "then"})
"""`get_or_create`, `find_and_replace`: a name that joins two verbs says nothing sure about the second."""

_PARTICLES = {"check": frozenset({"in", "out", "off"})}
"""`check_out_cart` and `check_in_passenger` are no checks."""

_SEGMENT = re.compile(r"\.|:|/|__")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


@lru_cache(maxsize=4096)
def _by_name(tool: str) -> ToolClass:
    segments = [segment for segment in _SEGMENT.split(tool) if segment]
    words = [word.lower() for word in _WORD.findall(segments[-1])] if segments else []
    if not words or words[0] not in READING_VERBS or _JOINED.intersection(words):
        return ToolClass.UNKNOWN
    if len(words) > 1 and words[1] in _PARTICLES.get(words[0], frozenset()):
        return ToolClass.UNKNOWN
    return ToolClass.READ_ONLY


def classify(tool: str, overrides: Mapping[str, str] | None = None) -> ToolClass:
    """The tool's class. An exact name in `overrides` goes before a glob, and globs go in the table's
    order."""
    table = overrides or {}
    if tool in table:
        return ToolClass(table[tool])
    for pattern, tool_class in table.items():
        if fnmatchcase(tool, pattern):
            return ToolClass(tool_class)
    return _by_name(tool)


def may_fault(tool_class: ToolClass, assume_tools: str) -> bool:
    """Whether a result may be destroyed on the model leg, where the agent's retry repeats the call."""
    if assume_tools == "replayable":
        return True
    return tool_class in (ToolClass.READ_ONLY, ToolClass.IDEMPOTENT)
