"""Which tools of the simulators only read, and which may be repeated: found by comparing their worlds' states
before and after each gold call, and after the same call once more.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from typing import Any

from .multi_turn import build_instances, carry_out, read_call
from .package import pairs

State = Any
"""A world as plain data that compares by value."""

OBSERVED = "multi_turn_base"
"""The category whose gold calls are observed: it has every simulator."""


@cache
def observe() -> Mapping[str, str]:
    """By tool, its class as sessions are told. A tool that no gold call uses isn't named."""
    seen: dict[str, list[tuple[bool, bool]]] = {}
    for entry, truth in pairs(OBSERVED):
        instances = build_instances(entry)
        for source in (source for turn in truth for source in turn):
            tool, arguments = read_call(source, instances)
            before = read_state(instances)
            result = carry_out(instances, tool, arguments)
            after = read_state(instances)
            again = deepcopy(instances)
            same = carry_out(again, tool, arguments) == result and read_state(again) == after
            seen.setdefault(tool, []).append((before == after, same))
    return {tool: _classify(found) for tool, found in sorted(seen.items())}


def _classify(found: list[tuple[bool, bool]]) -> str:
    if all(unchanged for unchanged, _ in found):
        return "read_only"
    return "idempotent" if all(same for _, same in found) else "destructive"


def read_state(value: Any, seen: dict[int, int] | None = None) -> State:
    """What a value holds, private attributes and random generators included; loops by their place."""
    seen = {} if seen is None else seen
    if isinstance(value, str | bytes | int | float | bool | None):
        return value
    if id(value) in seen:
        return ("seen", seen[id(value)])
    seen[id(value)] = len(seen)
    match value:
        case Mapping():
            held: Any = tuple((str(key), read_state(value[key], seen)) for key in value)
        case list() | tuple():
            held = tuple(read_state(one, seen) for one in value)
        case random.Random():
            held = value.getstate()
        case _ if hasattr(value, "__dict__"):
            held = read_state(vars(value), seen)
        case _:
            held = repr(value)
    return (type(value).__name__, held)
