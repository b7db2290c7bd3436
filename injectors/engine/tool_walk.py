"""One walk along a declared list of tools: known decisions are applied, and new ones made."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from re import search
from typing import Any

from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.engine.decision import Decision, Injection
from crosswind.injectors.engine.plan import ActiveRule, CompiledRule, Plan
from crosswind.injectors.engine.rule import Outcome, apply_rule
from crosswind.injectors.engine.shown_tools import ShownTools
from crosswind.injectors.engine.tool_list import Standing, change_by
from crosswind.injectors.guard import tools as tool_guard
from crosswind.injectors.guard.solvability import FULL, NOTHING
from crosswind.injectors.guard.tool_classes import classify
from crosswind.injectors.guard.tools import Asked
from crosswind.injectors.identity import slot_on
from crosswind.injectors.profiles.schedule import Occasion, due
from crosswind.injectors.targets import AddedTool, ToolChange, ToolTarget
from crosswind.injectors.wording import Texts


@dataclass(slots=True)
class _Counter:
    seen: int = 0
    injected: int = 0
    last: int | None = None


class ToolWalk:
    """One walk along a declared list."""

    def __init__(
        self,
        plan: Plan,
        rules: Sequence[ActiveRule],
        tools: Sequence[ToolSchema],
        anchors: Sequence[str],
        known: ShownTools | None,
        asked: Asked,
        turn: int,
        texts: Texts | None,
    ) -> None:
        self._texts = texts
        self._plan, self._rules, self._asked, self._turn = plan, rules, asked, turn
        self._tools, self._anchors = tuple(tools), anchors
        self._decided = frozenset(known.decided) if known else frozenset()
        self.decisions: list[Decision] = list(known.decisions) if known else []
        self.injections: list[Injection] = []
        self._counters = {rule.name: _Counter() for rule, *_ in rules}
        self._names: Counter[str] = Counter()
        self._taken = {tool.name for tool in tools} | asked.taken
        self._shown = len(tools) + len(asked.taken)

    def standing(self) -> list[Standing]:
        """What becomes of each declared tool, in the list's order."""
        before: dict[str, list[Decision]] = {}
        for decision in self.decisions:
            before.setdefault(decision.anchor, []).append(decision)
        rows = [Standing(at, tool, tool) for at, tool in enumerate(self._tools)]
        for row, anchor in zip(rows, self._anchors, strict=True):
            for decision in before.get(anchor, ()):
                if (change := change_by(decision, row.tool)) is not None:
                    self._meets(row, change)
        for row, anchor in zip(rows, self._anchors, strict=True):
            known = anchor in self._decided
            ordinal = self._names[row.declared.name]
            self._names[row.declared.name] += 1
            for active in self._rules:
                if _in_scope(active.rule, row.declared):
                    done = before.get(anchor, ()) if known else self._decide(active, row, anchor, ordinal)
                    self._count(active.rule, done)
        return rows

    def _decide(self, active: ActiveRule, row: Standing, anchor: str, ordinal: int) -> Sequence[Decision]:
        """Let one rule act on one new tool. Gives the decision, where there is one that stands."""
        rule, plan, name = active.rule, self._plan, row.declared.name
        counter = self._counters[rule.name]
        key = rule.key(plan, active.site.value)
        occasion = Occasion(counter.seen, self._turn, counter.injected, counter.last, key)
        slot = slot_on(plan.slot_line(rule, f"{active.site.value}:{name}"), ordinal)
        if not due(rule.when, rule.window, occasion, plan.expected_turns) or not rule.when.by_chance(slot):
            return ()
        target = ToolTarget(row.tool, self._tools, frozenset(self._taken))
        outcome = apply_rule(
            active,
            target,
            slot,
            anchor,
            lambda result: self._check(target, row, result.payload),
            full=FULL if len(self.decisions) >= plan.bounds.events_per_session else None,
            texts=self._texts,
        )
        if outcome is None:
            return ()
        self._record(outcome, row)
        if outcome.payload is None:
            return ()
        self._meets(row, outcome.payload)
        self.decisions.append(outcome.decision)
        return (outcome.decision,)

    def _check(self, target: ToolTarget, row: Standing, change: object) -> str | None:
        if not isinstance(change, ToolChange):
            raise TypeError("no ToolChange")
        if change == ToolChange(row.tool):
            return NOTHING
        plan, name = self._plan, row.declared.name
        reason = tool_guard.refused(target, name, change, self._asked, self._shown)
        tool_class = classify(name, plan.tool_classes)
        return reason or tool_guard.harmful(tool_class, row.declared.parameters, change, plan.assume_tools)

    def _record(self, outcome: Outcome, row: Standing) -> None:
        """Keep what a rule did to a tool, with the tool as JSON before and after."""
        name, change, after = row.declared.name, outcome.payload, None
        if change is not None:
            place = {} if change.behind is None else {"behind": change.behind}
            added = [_added(tool, change) for tool in change.added]
            after = _as_json([{**_document(change.tool), **place}, *added])
        tool_class = classify(name, self._plan.tool_classes).value
        before = _as_json([_document(row.tool)])
        self.injections.append(Injection(outcome.decision, before, after, outcome.note, name, tool_class))

    def _meets(self, row: Standing, change: ToolChange) -> None:
        row.meets(change)
        self._taken.add(change.tool.name)
        self._taken.update(tool.name for tool in change.added if tool.name is not None)
        self._shown += len(change.added)

    def _count(self, rule: CompiledRule, done: Sequence[Decision]) -> None:
        counter = self._counters[rule.name]
        if any(decision.rule == rule.name for decision in done):
            counter.injected += 1
            counter.last = counter.seen
        counter.seen += 1


def _in_scope(rule: CompiledRule, tool: ToolSchema) -> bool:
    if rule.tools and not any(fnmatchcase(tool.name, pattern) for pattern in rule.tools):
        return False
    return not rule.text or search(rule.text, tool.description) is not None


def _document(tool: ToolSchema) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters}


def _added(tool: AddedTool, change: ToolChange) -> dict[str, Any]:
    members = {"name": tool.name or change.tool.name, "description": tool.description}
    return {**members, "parameters": tool.parameters}


def _as_json(tools: list[dict[str, Any]]) -> str:
    return json.dumps(tools, ensure_ascii=False, default=str)
