"""Count what a conversation has met so far: bounds and schedules run on these counters.

They are computed from the conversation's own items, from its beginning: a fork or a resent history counts its
own branch. A longer conversation goes on from the counters of one that it begins with (`engine.resume`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

import msgspec
from msgspec.structs import replace

from crosswind.injectors.conversation import Item, Site, ToolResult, ToolSchema
from crosswind.injectors.engine.decision import Decision
from crosswind.injectors.engine.plan import ActiveRule, CompiledRule, Plan
from crosswind.injectors.guard.solvability import FULL, FULL_TOOL, Spent
from crosswind.injectors.guard.tool_classes import find_declared
from crosswind.injectors.guard.tool_observation import ObservedCalls
from crosswind.injectors.profiles.expressions import is_found
from crosswind.injectors.profiles.marks import find_observations
from crosswind.injectors.profiles.schedule import Occasion
from crosswind.injectors.stacks.backends import find_backend
from crosswind.injectors.targets import ToolClass


class BranchCounters(msgspec.Struct, gc=False):
    """The counters of one branch. What they hold is replaced before it changes, so that a copy shares it."""

    plan: Plan
    events: int = 0
    """Injections so far."""
    unsettled: Mapping[str, tuple[str, ...]] = {}
    """By rule, the words that its user has put in doubt and not settled yet."""
    _due: Mapping[str, int] = {}
    """By rule, the index of the user's text from which on these are settled."""
    _user_texts: int = 0
    _tool_results: int = 0
    _occasions: Mapping[str, int] = {}
    """By rule that is scoped; the occasions of all others are the items of their site."""
    _acted: Mapping[str, tuple[int, int]] = {}
    """By rule: its injections so far, and the index of the last one's occasion."""
    _faults: Mapping[str, int] = {}
    """By logical call."""
    _by_tool: Mapping[str, int] = {}
    """Injections into a tool's results."""
    called: frozenset[str] = frozenset()
    """The tools whose calls were answered."""
    phrases: frozenset[str] = frozenset()
    """The pack entries that the branch has met."""
    observed: ObservedCalls = msgspec.field(default_factory=ObservedCalls)
    """What these calls showed of their tools, where the plan has noise for results."""
    _shared: bool = False
    """Whether a copy may have the same `observed`."""

    def copy(self) -> BranchCounters:
        self._shared = True
        return replace(self)

    def occasion(
        self, active: ActiveRule, turn: int, item: Item | None = None, tools: Sequence[ToolSchema] = ()
    ) -> Occasion:
        """The rule's counters as they stand before the item at hand, of which `tools` are declared."""
        injected, last = self._acted.get(active.rule.name, (0, None))
        burst, key, step = active.rule.when.burst, "", None
        if burst is not None and burst.of == "backend" and isinstance(item, ToolResult):
            backend = find_backend(item.call.name, item.call.arguments, tools)
            key, step = f"{self.plan.session_key}|backend:{backend}", self._tool_results
        elif burst is not None:
            key = active.rule.key(self.plan, active.site.value)
        return Occasion(self._occasions_before(active), turn, injected, last, key, self.called, step)

    def has_acted(self, rule: CompiledRule) -> bool:
        """Whether the rule has injected anything on this branch."""
        return rule.name in self._acted

    def _occasions_before(self, active: ActiveRule) -> int:
        if active.scoped:
            return self._occasions.get(active.rule.name, 0)
        return self._user_texts if active.site is Site.USER_TEXT else self._tool_results

    def waits(self, rule: str) -> bool:
        """Whether what the rule has put in doubt is settled later than in the user's text at hand."""
        return rule in self.unsettled and self._user_texts < self._due.get(rule, 0)

    def faults_on(self, item: ToolResult) -> int:
        """The faults so far on the item's logical call."""
        return self._faults.get(item.logical_call, 0)

    def spent(self, item: ToolResult) -> Spent:
        """The faults so far, on the item's logical call and in all."""
        return Spent(self.faults_on(item), sum(self._faults.values()))

    def full(self, item: Item, now: int) -> str | None:
        """Why nothing more may be injected into an item that got `now` injections already, or None."""
        bounds = self.plan.bounds
        # Each word in doubt keeps room for the injection that settles it.
        if self.events + now + len(self.unsettled) >= bounds.events_per_session:
            return FULL
        if bounds.events_per_tool is None or not isinstance(item, ToolResult):
            return None
        met = self._by_tool.get(item.call.name, 0)
        return FULL_TOOL if met + now >= bounds.events_per_tool else None

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
        for decision in decisions:
            self._count_injection(item, decision, rules.get(decision.rule))
        if isinstance(item, ToolResult):
            self._tool_results += 1
            tool = item.call.name
            if tool not in self.called:
                self.called |= {tool}
            if rules and self.plan.evidence:
                reads = tool_class is ToolClass.READ_ONLY
                if self._shared:
                    self.observed, self._shared = self.observed.copy(), False
                self.observed.add(tool, item.logical_call, item.text, reads=reads)
        else:
            self._user_texts += 1
        for name, active in rules.items():
            if active.scoped and in_scope(active.rule, item):
                self._occasions = _add(self._occasions, name)

    def _count_injection(self, item: Item, decision: Decision, active: ActiveRule | None) -> None:
        self.events += 1
        if phrases := decision.draw.get("phrases"):
            self.phrases = self.phrases.union(phrases)
        if words := decision.draw.get("owed"):
            self.unsettled = {**self.unsettled, decision.rule: tuple(words)}
            self._due = {**self._due, decision.rule: self._user_texts + int(decision.draw.get("wait", 1))}
        elif "settles" in decision.draw:
            self.unsettled = {rule: owed for rule, owed in self.unsettled.items() if rule != decision.rule}
        if active is not None:
            injected, _ = self._acted.get(decision.rule, (0, None))
            self._acted = {**self._acted, decision.rule: (injected + 1, self._occasions_before(active))}
        if isinstance(item, ToolResult):
            self._by_tool = _add(self._by_tool, item.call.name)
            if decision.fault if active is None else active.entry.fault:
                self._faults = _add(self._faults, item.logical_call)


def _add(counts: Mapping[str, int], name: str) -> Mapping[str, int]:
    return {**counts, name: counts.get(name, 0) + 1}


def in_scope(rule: CompiledRule, item: Item) -> bool:
    """Whether an item of the rule's site is an occasion of it: from one of its tools, with its text."""
    if rule.text and not is_found(rule.text, item.text):
        return False
    if not isinstance(item, ToolResult):
        return not rule.observation or bool(find_observations(item.text, rule.observation))
    return not rule.tools or any(fnmatchcase(item.call.name, pattern) for pattern in rule.tools)
