"""What a conversation has met so far: the counters that bounds and schedules run on.

They are computed from the conversation's own items, from its beginning: a fork or a resent history counts its
own path. What was walked before may be gone on from, where a conversation begins with it (`walked`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from crosswind.injectors.conversation import Site, ToolResult
from crosswind.injectors.engine.decision import Decision, Item
from crosswind.injectors.engine.plan import ActiveRule, CompiledRule, Plan
from crosswind.injectors.guard.solvability import FULL, FULL_TOOL, Spent
from crosswind.injectors.profiles.marks import find_observations
from crosswind.injectors.profiles.schedule import Occasion


@dataclass(frozen=True, slots=True)
class Place:
    """An item, the turn in which it came (from 0), its part among its message's texts, and whether it is
    alone."""

    item: Item
    turn: int
    part: int
    alone: bool


class Path:
    """The counters of one walk along a conversation."""

    __slots__ = ("_acted", "_by_tool", "_called", "_faults", "_met", "_picked", "_plan", "events", "owed")

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._met = {Site.USER_TEXT: 0, Site.TOOL_RESULT: 0}
        """Items so far, by site."""
        self._picked: dict[str, int] = {}
        """Occasions so far, by rule that is scoped."""
        self._acted: dict[str, tuple[int, int]] = {}
        """By rule: its injections so far, and the index of the last one's occasion."""
        self._faults: dict[str, int] = {}
        self._called: dict[str, None] = {}
        self._by_tool: dict[str, int] = {}
        self.events = 0
        self.owed: dict[str, tuple[str, ...]] = {}
        """By rule, what its user has put in doubt and not settled yet."""

    def copy(self) -> Path:
        """A path that goes on from here without changing this one."""
        other = Path.__new__(Path)
        other._plan, other.events, other.owed = self._plan, self.events, self.owed.copy()
        other._met, other._picked, other._acted = self._met.copy(), self._picked.copy(), self._acted.copy()
        other._faults, other._called = self._faults.copy(), self._called.copy()
        other._by_tool = self._by_tool.copy()
        return other

    def occasion(self, one: ActiveRule, turn: int) -> Occasion:
        """The rule's counters as they stand before the item at hand."""
        rule, site = one.rule, one.site
        injected, last = self._acted.get(rule.name, (0, None))
        key = rule.key(self._plan, site.value) if rule.when.burst is not None else ""
        return Occasion(self._before(one), turn, injected, last, key, self._called)

    def _before(self, one: ActiveRule) -> int:
        """The occasions before the item at hand."""
        return self._picked.get(one.rule.name, 0) if one.scoped else self._met[one.site]

    def spent(self, item: Item) -> Spent:
        """The faults so far, on the item's logical call and in all."""
        call = item.logical_call if isinstance(item, ToolResult) else ""
        return Spent(self._faults.get(call, 0), sum(self._faults.values()))

    def full(self, item: Item, now: int) -> str | None:
        """Why nothing more may be injected into this item, into which `now` injections were made; or None."""
        bounds = self._plan.bounds
        # What is to be settled has its room kept.
        if self.events + now + len(self.owed) >= bounds.events_per_session:
            return FULL
        if bounds.events_per_tool is None or not isinstance(item, ToolResult):
            return None
        return FULL_TOOL if self._by_tool.get(item.call.name, 0) + now >= bounds.events_per_tool else None

    def passed(self, item: Item, decisions: Sequence[Decision]) -> None:
        """Count an item, whether known or new, and what was done to it."""
        result = item if isinstance(item, ToolResult) else None
        if result is not None:
            self._called[result.call.name] = None
        site = Site.USER_TEXT if result is None else Site.TOOL_RESULT
        ours = self._plan.active_rules(site)
        if decisions:
            self._took_effect(result, decisions, ours)
        self._met[site] += 1
        for one in ours.values():
            if one.scoped and in_scope(one.rule, item):
                self._picked[one.rule.name] = self._picked.get(one.rule.name, 0) + 1

    def _took_effect(
        self, result: ToolResult | None, decisions: Sequence[Decision], ours: Mapping[str, ActiveRule]
    ) -> None:
        self.events += len(decisions)
        if result is not None:
            name = result.call.name
            self._by_tool[name] = self._by_tool.get(name, 0) + len(decisions)
        for decision in decisions:
            self._take_doubts(decision)
            one = ours.get(decision.rule)
            if one is not None:
                injected, _ = self._acted.get(decision.rule, (0, None))
                self._acted[decision.rule] = injected + 1, self._before(one)
            if result is not None and decision.fault:
                self._faults[result.logical_call] = self._faults.get(result.logical_call, 0) + 1

    def _take_doubts(self, decision: Decision) -> None:
        if owed := decision.draw.get("owed"):
            self.owed[decision.rule] = tuple(owed)
        elif "settles" in decision.draw:
            self.owed.pop(decision.rule, None)


def in_scope(rule: CompiledRule, item: Item) -> bool:
    """Whether an item of the rule's site is an occasion of it: from one of its tools, with its text."""
    if rule.text and not re.search(rule.text, item.text):
        return False
    if not isinstance(item, ToolResult):
        return not rule.observation or bool(find_observations(item.text, rule.observation))
    if not rule.tools:
        return True
    return any(fnmatchcase(item.call.name, pattern) for pattern in rule.tools)
