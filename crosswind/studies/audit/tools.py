"""What a tool does to the world, and whether it may still be called as it was declared: the audit's own
reading.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Any

from crosswind.gateway.trajectory.record import Event

READS = frozenset(("get", "list", "search", "find", "lookup", "read", "check", "calculate"))
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
REPEATABLE = ("read_only", "idempotent")
CHANGES = frozenset(
    re.findall(
        r"\w+",
        "delete remove cancel create insert write overwrite replace send execute kill rename upload append "
        "drop terminate modify update book pay purchase transfer post publish merge approve refund submit",
    )
)
"""Verbs of tools that change something, by which a name begins or ends."""


def declared_class(tool: str, table: Mapping[str, str]) -> str | None:
    """The class that the plan's table gives, exact names before globs."""
    if tool in table:
        return table[tool]
    return next((kind for pattern, kind in table.items() if fnmatchcase(tool, pattern)), None)


def changes_something(tool: str) -> bool:
    """Whether the name says so: by its first or last word, or after a joint."""
    said = _words(tool)
    joined = [second for first, second in pairwise(said) if first in ("and", "or", "then")]
    return bool(CHANGES.intersection([*said[:1], *joined])) or (
        said[-1:] != [] and said[-1] in CHANGES and not READS.intersection(said)
    )


def class_of(tool: str, table: Mapping[str, str]) -> str:
    """The tool's class: by the plan's table, exact names before globs; else by the first word of its name."""
    listed = declared_class(tool, table)
    if listed is not None:
        return listed
    said = _words(tool)
    joined = {"and", "or", "then"} & set(said)
    leaves = said[:1] == ["check"] and said[1:2] in (["in"], ["out"], ["off"])
    return "read_only" if said[:1] and said[0] in READS and not joined and not leaves else "unknown"


def _words(tool: str) -> list[str]:
    last = re.split(r"[.:/]|__", tool.rstrip(".:/_"))[-1]
    return [word.lower() for word in _WORDS.findall(last)]


def find_untrue(event: Event) -> Iterator[str]:
    """What is not so any more of the tool that was declared, by a schema event's before and after."""
    try:
        [was], now = json.loads(event.before), json.loads(event.after or "[]")
    except ValueError:
        yield "its tools can't be read"
        return
    if not now:
        yield "the tool is gone"
        return
    true, added = now[0], now[1:]
    if true["name"] != was["name"] and any(one["name"] == true["name"] for one in added):
        yield "the renamed tool shares its name with one that isn't there"
    before, after = _without_descriptions(was["parameters"]), _without_descriptions(true["parameters"])
    if event.recovery == "retry":
        _leave_out_retyped(before, after)
    if before != after:
        yield "the declared tool takes other parameters than it did"
    for figure in re.findall(r"\d+", was["description"] or ""):
        if figure not in (true["description"] or ""):
            yield f"its description lost {figure}"


def _without_descriptions(schema: Any, names: bool = False) -> Any:
    """A copy without the descriptions. `names`: the keys are parameters' own names."""
    if isinstance(schema, list):
        return [_without_descriptions(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _without_descriptions(value, key in ("properties", "$defs", "definitions") and not names)
        for key, value in schema.items()
        if names or key != "description" or not isinstance(value, str)
    }


def _leave_out_retyped(before: Any, after: Any) -> None:
    """Drop parameters whose type changed: a call's answer tells the true one."""
    for name, one in list(after.get("properties", {}).items()):
        was = before.get("properties", {}).get(name)
        if isinstance(one, dict) and isinstance(was, dict) and one.get("type") != was.get("type"):
            del before["properties"][name], after["properties"][name]
