"""Noise on the declared tools: show what a session was shown before, decide what is new.

The decisions are made per tool, in the list's order; a rule's occasions are the declared tools. A tool is
found again by its anchor, which depends on what it says and not on how the client spells its JSON.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from re import search
from typing import Any

import msgspec

from crosswind.injectors.conversation import Site, ToolList, ToolSchema
from crosswind.injectors.engine.decision import Decision, Injection
from crosswind.injectors.engine.plan import NO_RULES, ActiveRule, CompiledRule, Plan
from crosswind.injectors.engine.rule import Outcome, apply_rule
from crosswind.injectors.engine.tool_list import PerturbedTool, ShownTools, build_shown_tools, redo_change
from crosswind.injectors.guard import tools as tool_guard
from crosswind.injectors.guard.solvability import FULL, NOTHING
from crosswind.injectors.guard.tools import ToolConstraints
from crosswind.injectors.identity import slot_on
from crosswind.injectors.profiles.schedule import Occasion, due
from crosswind.injectors.targets import AddedTool, Branch, ToolChange, ToolTarget
from crosswind.injectors.wording import Texts

UNCONSTRAINED = ToolConstraints()


def perturb_tools(
    plan: Plan,
    tools: Sequence[ToolSchema],
    constraints: ToolConstraints = UNCONSTRAINED,
    *,
    known: ShownTools | None = None,
    allow_new: bool = True,
    turn: int = 0,
    texts: Texts | None = None,
    elsewhere: frozenset[str] = frozenset(),
    again: bool = False,
) -> ShownTools:
    """The tools as the policy is shown them.

    `known` is what the branch was shown for this list, else what it was shown last: a list with the same
    anchor comes out as it was, and of another one the tools that are known. With `allow_new` False new tools
    are shown clean, now and later. `turn` counts requests from 0, for schedules; `texts` are a model's, for
    operators that may have one write. Nothing new is decided on the tools named in `elsewhere`. `again`:
    rules that have not acted on a known tool may do so now, for a client that is told that its list has
    changed. Pure.
    """
    if not tools or not (Site.TOOL_SCHEMA in plan.rules_by_site or (known and known.decisions)):
        return ShownTools.clean(tools)
    tools = ToolList.of(tools)
    plain = constraints.choices == 1 and not constraints.forced
    same = known is not None and known.anchor == tools.anchor and not again
    if same and known and plain and not known.partial and _fits(known, constraints):
        return replace(known, injections=()) if known.injections else known
    if any(tool_guard.too_deep(tool.parameters) for tool in tools):
        return ShownTools.clean(tools)  # Nobody could write it down.
    rules = list(plan.rules_by_site.get(Site.TOOL_SCHEMA, NO_RULES).values()) if allow_new else []
    before = known or ShownTools.clean(())
    walk = _Walk(plan, rules, tools, constraints, before, turn, texts, elsewhere, again)
    shown = build_shown_tools(walk.perturb(), constraints)
    return replace(
        shown,
        anchor=tools.anchor,
        decisions=tuple(walk.decisions),
        decided=tuple(dict.fromkeys([*walk.known.decided, *tools.anchors])),
        partial=not plain,
        injections=tuple(walk.injections),
    )


def _fits(known: ShownTools, constraints: ToolConstraints) -> bool:
    if constraints.taken and any(tool.changed and tool.name in constraints.taken for tool in known.tools):
        return False
    return constraints.duplicates == "allowed" or len({one.name for one in known.tools}) == len(known.tools)


@dataclass(slots=True)
class _Counter:
    seen: int = 0
    injected: int = 0
    last: int | None = None


@dataclass(slots=True)
class _Walk:
    """One walk along a declared list: known decisions are applied, and new ones made."""

    plan: Plan
    rules: Sequence[ActiveRule]
    tools: ToolList
    constraints: ToolConstraints
    known: ShownTools
    turn: int
    texts: Texts | None
    elsewhere: frozenset[str]
    again: bool = False
    decisions: list[Decision] = field(init=False)
    injections: list[Injection] = field(default_factory=list)
    _counters: dict[str, _Counter] = field(init=False)
    _taken: set[str] = field(init=False)
    branch: Branch = field(init=False)
    _shown: int = field(init=False)
    """How many tools are shown so far."""

    def __post_init__(self) -> None:
        self.decisions = list(self.known.decisions)
        self._counters = {active.rule.name: _Counter() for active in self.rules}
        self.branch = Branch(self.plan.phrases, self.plan.session_key)
        self._taken = {tool.name for tool in self.tools} | self.constraints.taken
        self._shown = len(self.tools) + len(self.constraints.taken)

    def perturb(self) -> list[PerturbedTool]:
        """What becomes of each declared tool, in the list's order."""
        before: dict[str, list[Decision]] = {}
        for decision in self.decisions:
            before.setdefault(decision.anchor, []).append(decision)
        rows = [PerturbedTool(at, tool, tool) for at, tool in enumerate(self.tools)]
        # All known decisions first: a new one must not take a name that a later tool was given before.
        for row, anchor in zip(rows, self.tools.anchors, strict=True):
            for decision in before.get(anchor, ()):
                if (change := redo_change(decision, row.tool)) is not None:
                    self._change(row, change)
        decided, names = frozenset(self.known.decided), Counter[str]()
        for row, anchor in zip(rows, self.tools.anchors, strict=True):
            ordinal = names[row.declared.name]
            names[row.declared.name] += 1
            for active in self.rules:
                if is_tool_in_scope(active.rule, row.declared):
                    known = anchor in decided
                    done: Sequence[Decision] = before.get(anchor, ()) if known else ()
                    acted = any(one.rule == active.rule.name for one in done)
                    if not known or (self.again and not acted):
                        done = self._decide(active, row, anchor, ordinal)
                    self._count(active.rule, done)
        return rows

    def _decide(
        self, active: ActiveRule, row: PerturbedTool, anchor: str, ordinal: int
    ) -> Sequence[Decision]:
        """Let one rule act on one new tool. Gives the decision, if one stands."""
        rule, plan, name = active.rule, self.plan, row.declared.name
        if name in self.elsewhere:
            return ()
        counter = self._counters[rule.name]
        key = rule.key(plan, active.site.value)
        occasion = Occasion(counter.seen, self.turn, counter.injected, counter.last, key)
        slot = slot_on(plan.slot_line(rule, f"{active.site.value}:{name}"), ordinal)
        must = active.until_exposed is not None and all(one.rule != rule.name for one in self.decisions)
        when = (must and active.until_exposed) or rule.when
        if not due(when, rule.window, occasion, plan.expected_turns) or not when.by_chance(slot):
            return ()
        tool_class = plan.class_of(name, self.tools)
        branch = self.branch
        if active.entries:
            branch = msgspec.structs.replace(branch, entries=active.entries)
        target = ToolTarget(row.tool, self.tools, frozenset(self._taken), branch, tool_class)
        outcome = apply_rule(
            active,
            target,
            slot,
            anchor,
            lambda _, result: self._check(target, row, result.payload),
            full=FULL if len(self.decisions) >= plan.bounds.events_per_session else None,
            texts=self.texts,
            must=must,
        )
        if outcome is None:
            return ()
        self._record(outcome, row)
        if outcome.payload is None:
            return ()
        self._change(row, outcome.payload)
        self.decisions.append(outcome.decision)
        return (outcome.decision,)

    def _check(self, target: ToolTarget, row: PerturbedTool, change: object) -> str | None:
        if not isinstance(change, ToolChange):
            raise TypeError("no ToolChange")
        if change == ToolChange(row.tool):
            return NOTHING
        plan, declared = self.plan, row.declared
        tool_class = plan.class_of(declared.name, self.tools)
        return (
            tool_guard.check_change(target, declared.name, change, self.constraints, self._shown)
            or tool_guard.check_shown(declared, change, row.takes)
            or tool_guard.check_duplicates(tool_class, declared, change)
        )

    def _record(self, outcome: Outcome, row: PerturbedTool) -> None:
        """Keep what a rule did to a tool, as JSON before and after."""
        change: ToolChange | None = outcome.payload
        after = None
        if change is not None:
            place = {} if change.behind is None else {"behind": change.behind}
            added = [_as_json(tool, tool.name or change.tool.name) for tool in change.added]
            after = _dump([{**_as_json(change.tool, change.tool.name), **place}, *added])
        before, name = _dump([_as_json(row.tool, row.tool.name)]), row.declared.name
        tool_class = self.plan.class_of(name, self.tools).value
        self.injections.append(
            Injection(outcome.decision, before, after, outcome.note, name, tool_class, outcome.withheld)
        )

    def _change(self, row: PerturbedTool, change: ToolChange) -> None:
        row.take(change)
        self._taken.add(change.tool.name)
        self._taken.update(tool.name for tool in change.added if tool.name is not None)
        self._shown += len(change.added)

    def _count(self, rule: CompiledRule, done: Sequence[Decision]) -> None:
        counter = self._counters[rule.name]
        if any(decision.rule == rule.name for decision in done):
            counter.injected += 1
            counter.last = counter.seen
        counter.seen += 1


def is_tool_in_scope(rule: CompiledRule, tool: ToolSchema) -> bool:
    """Whether a declared tool is an occasion of a rule."""
    if rule.tools and not any(fnmatchcase(tool.name, pattern) for pattern in rule.tools):
        return False
    return not rule.text or search(rule.text, tool.description) is not None


def _as_json(tool: ToolSchema | AddedTool, name: str) -> dict[str, Any]:
    return {"name": name, "description": tool.description, "parameters": tool.parameters}


def _dump(tools: list[dict[str, Any]]) -> str:
    return json.dumps(tools, ensure_ascii=False, default=str)
