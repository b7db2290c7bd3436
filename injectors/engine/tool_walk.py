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
from crosswind.injectors.engine.plan import CompiledRule, Plan
from crosswind.injectors.engine.rule import Acting, carried_out, failed
from crosswind.injectors.engine.shown_tools import ShownTools
from crosswind.injectors.engine.tool_list import Standing, change_by
from crosswind.injectors.guard import tools as tool_guard
from crosswind.injectors.guard.solvability import FULL, NOTHING, why_solvable
from crosswind.injectors.guard.tool_classes import classify
from crosswind.injectors.guard.tools import Asked
from crosswind.injectors.identity import Slot
from crosswind.injectors.operator import Registered
from crosswind.injectors.profiles.schedule import Occasion, due
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import AddedTool, Draw, ToolChange, ToolTarget
from crosswind.injectors.wording import Texts, remark

Rules = list[tuple[CompiledRule, Registered]]


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
        rules: Rules,
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
        self._counters = {rule.name: _Counter() for rule, _ in rules}
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
            for rule, entry in self._rules:
                if _in_scope(rule, row.declared):
                    done = before.get(anchor, ()) if known else self._new(rule, entry, row, anchor, ordinal)
                    self._count(rule, done)
        return rows

    def _new(
        self, rule: CompiledRule, entry: Registered, row: Standing, anchor: str, ordinal: int
    ) -> Sequence[Decision]:
        """Let one rule act on one new tool. Gives the decision, where there is one that stands."""
        counter = self._counters[rule.name]
        key = rule.key(self._plan, entry.site.value)
        occasion = Occasion(counter.seen, self._turn, counter.injected, counter.last, key)
        if not due(rule.when, rule.window, occasion, self._plan.expected_turns):
            return ()
        full = FULL if len(self.decisions) >= self._plan.bounds.events_per_session else None
        injection, change = self._act(rule, entry, row, anchor, ordinal, full)
        if injection is None:
            return ()
        self.injections.append(injection)
        if change is None or injection.after is None:
            return ()
        self._meets(row, change)
        self.decisions.append(injection.decision)
        return (injection.decision,)

    def _act(
        self,
        rule: CompiledRule,
        entry: Registered,
        row: Standing,
        anchor: str,
        ordinal: int,
        full: str | None,
    ) -> tuple[Injection | None, ToolChange | None]:
        """One rule's work on one tool. `full` says why there is no room for it, where there is none."""
        plan, name = self._plan, row.declared.name
        site = f"{entry.site.value}:{name}"
        names = (plan.seed, plan.scope, plan.scope_key, rule.operator, site)
        slot = Slot(*names, ordinal=ordinal, rule=rule.name).key()
        if not rule.when.by_chance(slot):
            return None, None
        target = ToolTarget(row.tool, self._tools, frozenset(self._taken))
        try:
            drawn = entry.draw(rule.options, target, Stream(slot), rule.severity)
        except Exception as error:
            decision = self._decision(rule, entry, slot, anchor, {})
            return self._injection(decision, entry, row, None, "", failed(error)), None
        if drawn is None:
            return None, None
        attempt = carried_out(
            Acting(entry, target, slot, rule.severity, rule.prompt),
            drawn,
            lambda result: self._refused(target, row, result.payload) or full,
            None if full else self._texts,
        )
        if attempt.refused == NOTHING:
            return None, None
        decision = self._decision(rule, entry, slot, anchor, attempt.draw)
        payload = attempt.result.payload if attempt.result else None
        change = payload if isinstance(payload, ToolChange) else None
        note = attempt.result.note if attempt.result else ""
        return self._injection(decision, entry, row, change, note, attempt.refused), change

    def _decision(
        self, rule: CompiledRule, entry: Registered, slot: str, anchor: str, draw: Draw
    ) -> Decision:
        site, recovery = entry.site.value, entry.recovery.value
        return Decision(rule.operator, rule.name, site, slot, anchor, None, rule.severity, draw, recovery)

    def _refused(self, target: ToolTarget, row: Standing, change: object) -> str | None:
        if not isinstance(change, ToolChange):
            raise TypeError("no ToolChange")
        if change == ToolChange(row.tool):
            return NOTHING
        plan, name = self._plan, row.declared.name
        reason = tool_guard.refused(target, name, change, self._asked, self._shown)
        tool_class = classify(name, plan.tool_classes)
        return reason or tool_guard.harmful(tool_class, row.declared.parameters, change, plan.assume_tools)

    def _injection(
        self,
        decision: Decision,
        entry: Registered,
        row: Standing,
        change: ToolChange | None,
        note: str,
        refused: str | None,
    ) -> Injection:
        name = row.declared.name
        tool_class = classify(name, self._plan.tool_classes).value
        was = _as_json([_document(row.tool)])
        if refused is not None or change is None:
            return Injection(decision, was, None, f"Not injected: {refused}.", name, tool_class)
        place = {} if change.behind is None else {"behind": change.behind}
        added = [_added(tool, change) for tool in change.added]
        now = _as_json([{**_document(change.tool), **place}, *added])
        note = f"{note} {why_solvable(entry, self._plan.bounds)}{remark(decision.draw)}"
        return Injection(decision, was, now, note, name, tool_class)

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
