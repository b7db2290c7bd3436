"""What a conversation has met so far: the counters that bounds and schedules run on.

They are computed from the conversation's own items, from its beginning, and never kept between requests: a
fork or a resent history counts its own path.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from injectors import registry
from injectors.conversation import Site, ToolResult
from injectors.decision import Decision, Item
from injectors.plan import CompiledRule, Plan
from injectors.schedule import Occasion
from injectors.solvability import FULL, FULL_TOOL, Spent


@dataclass(frozen=True, slots=True)
class Place:
    """An item, the turn in which it came (from 0), its part among its message's texts, and whether it is
    alone."""

    item: Item
    turn: int
    part: int
    alone: bool


@dataclass(slots=True)
class _Counter:
    site: Site
    scoped: bool
    """Whether its rule picks among the items of its site; the occasions of all others are the same ones."""
    seen: int = 0
    """Occasions so far, where it is scoped."""
    injected: int = 0
    last: int | None = None


class Path:
    """The counters of one walk along a conversation. `rules` are the plan's for its items, in the order
    they act."""

    def __init__(self, plan: Plan) -> None:
        found = [(rule, registry.operators().get(rule.operator)) for rule in plan.rules]
        # Destroying rules come first: what is to be destroyed needs no decoration, and no promise about it.
        ours = sorted(((rule, entry) for rule, entry in found if entry), key=lambda pair: not pair[1].fault)
        self.rules = [rule for rule, entry in ours if entry.site in (Site.USER_TEXT, Site.TOOL_RESULT)]
        self._counters = {
            rule.name: _Counter(entry.site, bool(rule.tools or rule.text)) for rule, entry in ours
        }
        self._scoped = [rule for rule in self.rules if self._counters[rule.name].scoped]
        self._seen = {Site.USER_TEXT: 0, Site.TOOL_RESULT: 0}
        self._faults: dict[str, int] = {}
        self._called: dict[str, None] = {}
        self._by_tool: Counter[str] = Counter()
        self._plan = plan
        self.events = 0
        self.owed: dict[str, tuple[str, ...]] = {}
        """By rule, what its user has put in doubt and not settled yet."""

    def in_scope(self, rule: CompiledRule, item: Item) -> bool:
        """Whether the item is an occasion of the rule: of its site, from one of its tools, with its text."""
        site = self._counters[rule.name].site
        if rule.text and not re.search(rule.text, item.text):
            return False
        if not isinstance(item, ToolResult):
            return site is Site.USER_TEXT
        if site is not Site.TOOL_RESULT:
            return False
        return not rule.tools or any(fnmatchcase(item.call.name, pattern) for pattern in rule.tools)

    def occasion(self, rule: CompiledRule, turn: int) -> Occasion:
        """The rule's counters as they stand before the item at hand."""
        counter = self._counters[rule.name]
        key = rule.key(self._plan, counter.site.value)
        return Occasion(self._before(counter), turn, counter.injected, counter.last, key, self._called)

    def _before(self, counter: _Counter) -> int:
        """The occasions before the item at hand."""
        return counter.seen if counter.scoped else self._seen.get(counter.site, 0)

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
        return FULL_TOOL if self._by_tool[item.call.name] + now >= bounds.events_per_tool else None

    def passed(self, place: Place, decisions: Sequence[Decision]) -> None:
        """Count an item, whether known or new, and what was done to it."""
        item = place.item
        result = item if isinstance(item, ToolResult) else None
        if result is not None:
            self._called[result.call.name] = None
        if decisions:
            self._took_effect(result, decisions)
        self._seen[Site.USER_TEXT if result is None else Site.TOOL_RESULT] += 1
        for rule in self._scoped:
            if self.in_scope(rule, item):
                self._counters[rule.name].seen += 1

    def _took_effect(self, result: ToolResult | None, decisions: Sequence[Decision]) -> None:
        self.events += len(decisions)
        if result is not None:
            self._by_tool[result.call.name] += len(decisions)
        for decision in decisions:
            self._take_doubts(decision)
            counter = self._counters.get(decision.rule)
            if counter is not None:
                counter.injected += 1
                counter.last = self._before(counter)
            if result is not None and decision.fault:
                self._faults[result.logical_call] = self._faults.get(result.logical_call, 0) + 1

    def _take_doubts(self, decision: Decision) -> None:
        if owed := decision.draw.get("owed"):
            self.owed[decision.rule] = tuple(owed)
        elif "settles" in decision.draw:
            self.owed.pop(decision.rule, None)
