"""Noise on the calls of a tool leg: before a call is delivered, and on its result.

The model leg meets results of calls that have happened. Here a call can fail before it takes effect, so that
a call fails whatever its tool does to the world; what changes a result after the fact is allowed as on the
model leg. The draws follow from the logical call and its order among equal ones, so that calls that run side
by side get the same noise in whatever order they arrive; schedules and bounds go by the order of arrival.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import msgspec

from crosswind.injectors.conversation import Ref, Site, ToolCall, ToolList, ToolResult
from crosswind.injectors.engine.call_log import CallAttempt
from crosswind.injectors.engine.decision import Decision, Injection
from crosswind.injectors.engine.plan import NO_RULES, ActiveRule, CompiledRule, Plan
from crosswind.injectors.engine.rule import Outcome, carry_out, conclude, draw_rule, draw_where_possible
from crosswind.injectors.guard import solvability
from crosswind.injectors.guard.solvability import FULL, FULL_TOOL, NOTHING, SPENT, Spent
from crosswind.injectors.guard.tool_classes import Permission, find_declared, permit
from crosswind.injectors.guard.tool_observation import ObservedCalls
from crosswind.injectors.identity import slot_of_call
from crosswind.injectors.profiles.expressions import is_found
from crosswind.injectors.profiles.schedule import Occasion, due
from crosswind.injectors.stacks.backends import find_backend
from crosswind.injectors.targets import (
    EARLIER_TEXTS,
    Branch,
    Effect,
    ToolClass,
    ToolResultTarget,
    Withheld,
)

UNDELIVERED = "Solvable: the call never reached the tool, and the same call made again does."
"""The sentence of an event for a call that failed before it was delivered."""

Accept = Callable[[str], str | None]
_LONGEST_KEPT = 100_000
"""Characters of a result that later noise may draw from."""
_BEFORE_DELIVERY = Permission(True)


class NoisyText(msgspec.Struct, frozen=True, gc=False):
    """What noise makes of a text. `text` is None where it stays as it was."""

    text: str | None = None
    decisions: tuple[Decision, ...] = ()
    injections: tuple[Injection, ...] = ()

    @property
    def destroyed(self) -> bool:
        return any(decision.fault for decision in self.decisions)


@dataclass(slots=True)
class CallNoise:
    """The noise on the calls of one session's tool legs, in order."""

    plan: Plan
    count_left: Callable[[], int | None] = lambda: None
    """How many injections whoever ordered the noise leaves; None: as many as come."""
    events: int = 0
    """Injections so far."""
    faults: Counter[str] = field(default_factory=Counter)
    """Destroyed results, by logical call."""
    _by_tool: Counter[str] = field(default_factory=Counter)
    _seen: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Calls of a tool that a rule is for, by the rule."""
    _acted: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By rule: its injections, and the index of the last one's call."""
    _called: frozenset[str] = frozenset()
    _phrases: frozenset[str] = frozenset()
    _observed: ObservedCalls = field(default_factory=ObservedCalls)
    _earlier: deque[tuple[CallAttempt, ToolResult]] = field(
        default_factory=lambda: deque(maxlen=EARLIER_TEXTS)
    )
    _occasions: dict[tuple[str, int], int] = field(default_factory=dict)
    """By rule with a scope and call under way: the rule's occasions before it."""

    def class_of(self, call: CallAttempt, tools: ToolList) -> ToolClass:
        """The class of the call's tool as the calls so far leave it. What the operator declared stands."""
        declared = find_declared(call.tool, self.plan.tool_classes)
        if declared is None and call.tool in self._observed.doubted:
            return ToolClass.UNKNOWN
        return declared or call.told_class or self.plan.class_of(call.tool, tools)

    def fail_before(self, call: CallAttempt, tools: ToolList, turn: int) -> NoisyText:
        """The result that stands in place of a call that isn't delivered; no text: it is."""
        for active in self._rules():
            if active.rule.tools and call.attempt == 0 and _names(active.rule, call.tool):
                self._occasions[active.rule.name, call.index] = self._seen[active.rule.name, ""]
                self._seen[active.rule.name, ""] += 1
        one = _Text(self, call, tools, turn, "", 0, alone=True)
        replacing = (rule for rule in self._rules() if rule.entry.effect is Effect.REPLACES)
        return one.perturb(replacing, delivered=False)

    def change_result(
        self,
        call: CallAttempt,
        tools: ToolList,
        turn: int,
        text: str,
        part: int = 0,
        *,
        alone: bool = True,
        accept: Accept = lambda _: None,
        tried: frozenset[str] = frozenset(),
    ) -> NoisyText:
        """What noise makes of a text of a call's true result. `alone`: the result has no other part; `accept`
        says why the result may not have that text, or None. `tried` are the rules that had their say before
        the call was delivered.
        """
        one = _Text(self, call, tools, turn, text, part, alone=alone, accept=accept)
        rules = [active for active in self._rules() if active.rule.name not in tried]
        return one.perturb(rules, delivered=True)

    def count(self, call: CallAttempt, noise: NoisyText) -> None:
        """Count what was done to a call."""
        for decision in noise.decisions:
            self.events += 1
            self._by_tool[call.tool] += 1
            injected, _ = self._acted.get(decision.rule, (0, 0))
            self._acted[decision.rule] = injected + 1, call.index
            if phrases := decision.draw.get("phrases"):
                self._phrases = self._phrases.union(phrases)
            if decision.fault:
                self.faults[call.logical_call] += 1

    def resume(self, operator: str, tool: str, logical_call: str | None, *, fault: bool) -> None:
        """Count an injection of an earlier process."""
        self.events += 1
        self._by_tool[tool] += 1
        for active in self._rules():
            if active.rule.operator == operator:
                injected, _ = self._acted.get(active.rule.name, (0, 0))
                self._acted[active.rule.name] = injected + 1, 0
        if fault and logical_call is not None:
            self.faults[logical_call] += 1

    def learn(self, call: CallAttempt, text: str, tools: ToolList) -> None:
        """Take note of a true result: what later noise may draw from, and what it shows of its tool."""
        self._called |= {call.tool}
        for key in [key for key in self._occasions if key[1] == call.index]:
            del self._occasions[key]
        if self.plan.evidence and self._rules():
            reads = self.class_of(call, tools) is ToolClass.READ_ONLY
            self._observed.add(call.tool, call.logical_call, text, reads=reads)
        if len(text) <= _LONGEST_KEPT:
            self._earlier.append((call, _as_item(call, text)))

    def full(self, tool: str, now: int) -> str | None:
        """Why nothing more may be injected into a result that got `now` injections already, or None."""
        bounds = self.plan.bounds
        if self.events + now >= bounds.events_per_session:
            return FULL
        if (left := self.count_left()) is not None and now >= left:
            return SPENT
        if bounds.events_per_tool is not None and self._by_tool[tool] + now >= bounds.events_per_tool:
            return FULL_TOOL
        return None

    def spent(self, call: CallAttempt) -> Spent:
        return Spent(self.faults[call.logical_call], self.faults.total())

    def occasion(self, active: ActiveRule, call: CallAttempt, turn: int, tools: ToolList) -> Occasion:
        """The rule's counters as they stood when the call was made."""
        rule = active.rule
        injected, last = self._acted.get(rule.name, (0, None))
        key, step = "", None
        if rule.when.burst is not None and rule.when.burst.of == "backend":
            backend = find_backend(call.tool, call.arguments, tools)
            key, step = f"{self.plan.session_key}|backend:{backend}", call.index
        elif rule.when.burst is not None:
            key = rule.key(self.plan, active.site.value)
        index = self._occasions.get((rule.name, call.index), call.index) if rule.tools else call.index
        return Occasion(index, turn, injected, last, key, self._called, step)

    def has_acted(self, rule: CompiledRule) -> bool:
        return rule.name in self._acted

    def branch(self) -> Branch:
        plan = self.plan
        earlier = tuple(item for _, item in self._earlier)
        return Branch(plan.phrases, plan.session_key, "", earlier, self._phrases, self._called)

    def read_before(self, tools: ToolList) -> Iterator[str]:
        """The results that reads gave."""
        for call, item in self._earlier:
            if self.class_of(call, tools) is ToolClass.READ_ONLY:
                yield item.text

    def _rules(self) -> list[ActiveRule]:
        rules: Mapping[str, ActiveRule] = self.plan.rules_by_site.get(Site.TOOL_RESULT, NO_RULES)
        return list(rules.values())


@dataclass(slots=True)
class _Text:
    """One text that noise acts on: that of a result, or none where the call isn't delivered yet."""

    noise: CallNoise
    call: CallAttempt
    tools: ToolList
    turn: int
    clean: str
    part: int
    alone: bool
    accept: Accept = lambda _: None
    tool_class: ToolClass = field(init=False)
    _done: list[Decision] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tool_class = self.noise.class_of(self.call, self.tools)

    def perturb(self, rules: Iterator[ActiveRule] | list[ActiveRule], *, delivered: bool) -> NoisyText:
        """Let each rule act in its turn on what the one before left."""
        text, injections = self.clean, list[Injection]()
        for active in rules:
            if not self._is_due(active):
                continue
            outcome = self._apply(active, text, delivered)
            if outcome is None or (not delivered and outcome.withheld is Withheld.GUARD):
                continue  # What needs a result to work on gets its turn when there is one.
            after = None if outcome.payload is None else str(outcome.payload)
            injections.append(self._describe(outcome, text, after))
            if after is not None:
                text = after
                self._done.append(outcome.decision)
                if active.entry.fault:
                    break
        changed = text if self._done and (text != self.clean or not delivered) else None
        return NoisyText(changed, tuple(self._done), tuple(injections))

    def _is_due(self, active: ActiveRule) -> bool:
        rule, call = active.rule, self.call
        if rule.tools and not _names(rule, call.tool):
            return False
        if rule.text and not is_found(rule.text, self.clean):
            return False
        if active.entry.fault and not self.alone:
            return False  # The result's other parts would tell the truth all the same.
        if active.always:
            return True
        when = (self._must_act(active) and active.until_exposed) or rule.when
        occasion = self.noise.occasion(active, call, self.turn, self.tools)
        return due(when, rule.window, occasion, self.noise.plan.expected_turns)

    def _must_act(self, active: ActiveRule) -> bool:
        return active.until_exposed is not None and not self.noise.has_acted(active.rule)

    def _apply(self, active: ActiveRule, text: str, delivered: bool) -> Outcome | None:
        rule, entry, call = active.rule, active.entry, self.call
        slot = slot_of_call(active.line, call.logical_call, call.order, self.part)
        must = self._must_act(active)
        if not (must or rule.when.by_chance(slot)):
            return None
        target = ToolResultTarget(
            text,
            call.order,  # Not the index: draws would follow from the order of arrival.
            call.tool,
            call.arguments,
            self.tool_class,
            self.noise.faults[call.logical_call],
            self.tools,
            branch=self.noise.branch(),
        )
        drawn = (draw_where_possible if must else draw_rule)(active, target, slot, call.anchor)
        if drawn is None:
            return None
        permission = _BEFORE_DELIVERY
        if delivered:
            # A fault can come before delivery: there is no need to assume that a call may be repeated.
            permission = permit(entry.effect, self.tool_class, "declared")
        attempt = carry_out(
            active,
            target,
            slot,
            drawn,
            lambda _, result: self._check(active, target, str(result.payload), permission),
            full=self.noise.full(call.tool, len(self._done)),
        )
        assurance = "" if delivered else UNDELIVERED
        if permission.if_read_elsewhere:
            assurance = solvability.READ_ELSEWHERE
        return conclude(active, slot, call.anchor, attempt, call.logical_call, assurance)

    def _check(
        self, active: ActiveRule, target: ToolResultTarget, after: str, permission: Permission
    ) -> str | None:
        if after == target.text:
            return NOTHING
        refused = None
        if active.entry.fault:
            spent = self.noise.spent(self.call)
            plan = self.noise.plan
            refused = solvability.check_fault(target, spent, plan.bounds, permission, plan.tool_classes)
            if refused is None and permission.if_read_elsewhere:
                read = self.noise.read_before(self.tools)
                refused = solvability.check_read_elsewhere(target, after, read)
        refused = refused or solvability.check_tool_result(active.entry, target, after, clean=self.clean)
        return refused or self.accept(after)

    def _describe(self, outcome: Outcome, before: str, after: str | None) -> Injection:
        tool, kind = self.call.tool, self.tool_class.value
        return Injection(outcome.decision, before, after, outcome.note, tool, kind, outcome.withheld)


def _names(rule: CompiledRule, tool: str) -> bool:
    return any(fnmatchcase(tool, pattern) for pattern in rule.tools)


def _as_item(call: CallAttempt, text: str) -> ToolResult:
    made = ToolCall(call.anchor, call.tool, call.arguments)
    return ToolResult(Ref(call.index), text, call.anchor, call.index, made, call.logical_call)
