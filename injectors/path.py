"""What a conversation has met so far: the counters that bounds and schedules run on.

They are computed from the conversation's own items, from its beginning, and never kept between requests: a fork or a
resent history counts its own path.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from injectors import registry
from injectors.conversation import Site, ToolResult, UserText
from injectors.operator import Registered
from injectors.plan import CompiledRule, Plan
from injectors.schedule import Occasion
from injectors.solvability import Spent


@dataclass(frozen=True, slots=True)
class Place:
    """An item, the turn it arrived in (from 0), its part among its message's texts, and whether it is the only one."""

    item: UserText | ToolResult
    turn: int
    part: int
    alone: bool


@dataclass(slots=True)
class _Counter:
    seen: int = 0
    injected: int = 0
    last: int | None = None


class Path:
    """The counters of one walk along a conversation."""

    def __init__(self, plan: Plan) -> None:
        operators = registry.operators()
        # Destroying rules come first: what is to be destroyed needs no decoration, and its note no promise about it.
        self.rules = sorted(plan.rules, key=lambda rule: not _is_fault(operators.get(rule.operator)))
        self._site = {rule.name: entry.site for rule in plan.rules if (entry := operators.get(rule.operator))}
        self._counters = {rule.name: _Counter() for rule in plan.rules}
        self._faults: dict[str, int] = {}
        self.events = 0

    def in_scope(self, rule: CompiledRule, place: Place) -> bool:
        """Whether the item is an occasion of the rule: its site and its tools."""
        item = place.item
        if isinstance(item, UserText):
            return self._site.get(rule.name) is Site.USER_TEXT
        if self._site.get(rule.name) is not Site.TOOL_RESULT:
            return False
        return not rule.tools or any(fnmatchcase(item.call.name, pattern) for pattern in rule.tools)

    def occasion(self, rule: CompiledRule, turn: int) -> Occasion:
        """The rule's counters as they stand before the item at hand."""
        counter = self._counters[rule.name]
        return Occasion(counter.seen, turn, counter.injected, counter.last)

    def spent(self, logical_call: str | None) -> Spent:
        """The faults so far, on this logical call and in all."""
        return Spent(self._faults.get(logical_call or "", 0), sum(self._faults.values()))

    def passed(self, place: Place, decisions: Iterable[tuple[str, bool]]) -> None:
        """Count an item, whether known or new, with the rules that acted on it and whether each destroyed it."""
        for rule_name, fault in decisions:
            self.events += 1
            counter = self._counters.get(rule_name)
            if counter is not None:
                counter.injected += 1
                counter.last = counter.seen
            if fault and isinstance(place.item, ToolResult):
                call = place.item.logical_call
                self._faults[call] = self._faults.get(call, 0) + 1
        for rule in self.rules:
            if self.in_scope(rule, place):
                self._counters[rule.name].seen += 1


def _is_fault(entry: Registered | None) -> bool:
    return entry is not None and entry.fault
