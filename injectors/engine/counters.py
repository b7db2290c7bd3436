"""Count what a conversation has met so far: bounds and schedules run on these counters.

They are computed from the conversation's own items, from its beginning: a fork or a resent history counts its
own branch. A longer conversation goes on from the counters of one that it begins with (`engine.resume`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from crosswind.injectors.conversation import Item, Site, ToolResult, ToolSchema
from crosswind.injectors.engine.decision import Decision
from crosswind.injectors.engine.plan import ActiveRule, CompiledRule, Plan
from crosswind.injectors.guard.solvability import FULL, FULL_TOOL, Spent
from crosswind.injectors.guard.tool_classes import find_declared
from crosswind.injectors.guard.tool_observation import ObservedCalls
from crosswind.injectors.profiles.expressions import is_found
from crosswind.injectors.profiles.marks import find_observations
from crosswind.injectors.profiles.schedule import Occasion
from crosswind.injectors.targets import ToolClass

_TALLY = partial(defaultdict[Any, int], int)
"""Not `Counter`, which takes several times as long to copy."""


@dataclass(slots=True)
class BranchCounters:
    plan: Plan
    events: int = 0
    """Injections so far."""
    unsettled: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By rule, the words that its user has put in doubt and not settled yet."""
    _items: dict[Site, int] = field(default_factory=_TALLY)
    _occasions: dict[str, int] = field(default_factory=_TALLY)
    """By rule that is scoped; the occasions of all others are the items of their site."""
    _acted: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By rule: its injections so far, and the index of the last one's occasion."""
    _faults: dict[str, int] = field(default_factory=_TALLY)
    """By logical call."""
    _by_tool: dict[str, int] = field(default_factory=_TALLY)
    """Injections into a tool's results."""
    _called: dict[str, None] = field(default_factory=dict)
    """The tools whose calls were answered."""
    observed: ObservedCalls = field(default_factory=ObservedCalls)
    """What these calls showed of their tools, where the plan has noise for results."""

    def copy(self) -> BranchCounters:
        return BranchCounters(
            self.plan,
            self.events,
            self.unsettled.copy(),
            self._items.copy(),
            self._occasions.copy(),
            self._acted.copy(),
            self._faults.copy(),
            self._by_tool.copy(),
            self._called.copy(),
            self.observed.copy(),
        )

    def occasion(self, active: ActiveRule, turn: int) -> Occasion:
        """The rule's counters as they stand before the item at hand."""
        injected, last = self._acted.get(active.rule.name, (0, None))
        key = active.rule.key(self.plan, active.site.value) if active.rule.when.burst is not None else ""
        return Occasion(self._occasions_before(active), turn, injected, last, key, self._called)

    def _occasions_before(self, active: ActiveRule) -> int:
        return self._occasions[active.rule.name] if active.scoped else self._items[active.site]

    def spent(self, item: ToolResult) -> Spent:
        """The faults so far, on the item's logical call and in all."""
        return Spent(self._faults.get(item.logical_call, 0), sum(self._faults.values()))

    def full(self, item: Item, now: int) -> str | None:
        """Why nothing more may be injected into an item that got `now` injections already, or None."""
        bounds = self.plan.bounds
        # Each word in doubt keeps room for the injection that settles it.
        if self.events + now + len(self.unsettled) >= bounds.events_per_session:
            return FULL
        if bounds.events_per_tool is None or not isinstance(item, ToolResult):
            return None
        return FULL_TOOL if self._by_tool[item.call.name] + now >= bounds.events_per_tool else None

    def class_of(self, tool: str, schemas: Sequence[ToolSchema]) -> ToolClass:
        """The tool's class as the calls so far leave it. What the operator declared stands."""
        if tool in self.observed.doubted and find_declared(tool, self.plan.tool_classes) is None:
            return ToolClass.UNKNOWN
        return self.plan.class_of(tool, schemas)

    def count(
        self,
        item: Item,
        decisions: Sequence[Decision],
        rules: Mapping[str, ActiveRule],
        tool_class: ToolClass,
    ) -> None:
        """Count an item, whether known or new, and what was done to it. `rules` are those of its site, and
        `tool_class` is its tool's, where there are rules.
        """
        if isinstance(item, ToolResult):
            self._called[item.call.name] = None
            if rules and self.plan.evidence:
                reads = tool_class is ToolClass.READ_ONLY
                self.observed.add(item.call.name, item.logical_call, item.text, reads=reads)
        for decision in decisions:
            self._count_injection(item, decision, rules.get(decision.rule))
        self._items[item.site] += 1
        for active in rules.values():
            if active.scoped and in_scope(active.rule, item):
                self._occasions[active.rule.name] += 1

    def _count_injection(self, item: Item, decision: Decision, active: ActiveRule | None) -> None:
        self.events += 1
        if words := decision.draw.get("owed"):
            self.unsettled[decision.rule] = tuple(words)
        elif "settles" in decision.draw:
            self.unsettled.pop(decision.rule, None)
        if active is not None:
            injected, _ = self._acted.get(decision.rule, (0, None))
            self._acted[decision.rule] = injected + 1, self._occasions_before(active)
        if isinstance(item, ToolResult):
            self._by_tool[item.call.name] += 1
            if decision.fault:
                self._faults[item.logical_call] += 1


def in_scope(rule: CompiledRule, item: Item) -> bool:
    """Whether an item of the rule's site is an occasion of it: from one of its tools, with its text."""
    if rule.text and not is_found(rule.text, item.text):
        return False
    if not isinstance(item, ToolResult):
        return not rule.observation or bool(find_observations(item.text, rule.observation))
    return not rule.tools or any(fnmatchcase(item.call.name, pattern) for pattern in rule.tools)
