"""Noise on the texts of a conversation: show again what was decided before, decide what is new.

The items are walked in order, and the decisions of known anchors are counted, so that bounds and schedules
run along the conversation's own branch: the same conversation gives the same view, and a longer one never
changes its beginning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from crosswind.injectors import registry
from crosswind.injectors.conversation import Conversation, InstructionText, Item, Ref, ToolResult, UserText
from crosswind.injectors.engine import observations
from crosswind.injectors.engine.counters import BranchCounters, in_scope
from crosswind.injectors.engine.decision import Decision, Injection, KnownText, NewText
from crosswind.injectors.engine.plan import ActiveRule, Plan
from crosswind.injectors.engine.resume import MessageNoise, WalkEnd
from crosswind.injectors.engine.rule import Outcome, apply_rule
from crosswind.injectors.guard import shown_text, solvability
from crosswind.injectors.guard.solvability import NOTHING, Spent
from crosswind.injectors.guard.tool_classes import ASSUMED_REPLAYABLE, Permission, is_repeatable, permit
from crosswind.injectors.identity import slot_on
from crosswind.injectors.operator import Registered
from crosswind.injectors.profiles.schedule import due
from crosswind.injectors.targets import Draw, InstructionsTarget, ToolClass, ToolResultTarget, UserTarget
from crosswind.injectors.text.entities import find_protected_spans
from crosswind.injectors.wording import Texts, apply_draw

TextTarget = UserTarget | InstructionsTarget | ToolResultTarget
_CLEAN = KnownText(None)
_NOTHING_SPENT = Spent(0, 0)


def perturb_messages(
    plan: Plan,
    conversation: Conversation,
    known: Mapping[str, KnownText],
    *,
    allow_new: bool = True,
    texts: Texts | None = None,
    walked: WalkEnd | None = None,
) -> MessageNoise:
    """The noise of the conversation under the plan.

    `known` is the session's ledger by anchor. With `allow_new` False nothing is injected that wasn't before;
    new items are still reported, as shown clean. Items that the upstream holds are as they were shown, or
    clean: they are not reported. `texts` are a model's, for operators that may have one write. `walked` is an
    earlier walk with which this one begins. Pure; an operator that fails leaves the clean text and a
    withheld injection.
    """
    items, held = conversation.items, conversation.held
    counters, shown_texts, turn, part, start = BranchCounters(plan), dict[Ref, str](), 0, 0, 0
    if walked is not None:
        counters, shown_texts = walked.counters.copy(), dict(walked.texts)
        turn, part, start = walked.turn, walked.part, len(walked.items)
    new: list[NewText] = []
    certain = True
    for at in range(start, len(items)):
        item = items[at]
        if at > 0:
            # Between two turns stands at least one message of the policy.
            turn += item.ref.message - items[at - 1].ref.message > 1
            part = part + 1 if _same_message(items[at - 1], item) else 0
        rules, tool_class = plan.active_rules(item.site), ToolClass.UNKNOWN
        if rules and isinstance(item, ToolResult):
            tool_class = counters.class_of(item.call.name, conversation.tools)
        shown = known.get(item.anchor)
        if shown is None and item.ref.message < held:
            certain, shown = False, _CLEAN
        elif shown is None:
            decided = NewText(item, (), None, ())
            if allow_new and rules:
                alone = part == 0 and not (at + 1 < len(items) and _same_message(item, items[at + 1]))
                new_item = _NewItem(plan, conversation, counters, item, turn, part, alone, texts, tool_class)
                decided = new_item.perturb(rules)
            new.append(decided)
            shown = KnownText(decided.text, decided.decisions) if decided.decisions else _CLEAN
        if shown.text is not None and shown.text != item.text:
            shown_texts[item.ref] = shown.text
        counters.count(item, shown.decisions, rules, tool_class)
    end = None
    if items and certain:
        end = WalkEnd(plan, known, items, tuple(new), shown_texts, counters, turn, part)
    # What the upstream holds can't be replaced; the walk keeps it, and the caller gets a copy to change.
    ours = {ref: text for ref, text in shown_texts.items() if ref.message >= held} if held else shown_texts
    return MessageNoise(ours.copy(), new, end)


def perturb_instructions(
    plan: Plan,
    item: InstructionText,
    known: Mapping[str, KnownText],
    *,
    turn: int = 0,
    allow_new: bool = True,
    texts: Texts | None = None,
) -> tuple[str | None, NewText | None]:
    """The text to show in place of the instructions (None: as they are), and what the ledger didn't know.

    Made for the sessions of simulated users: one text is rewritten, before the task begins. It is found again
    by what it says. The arguments are as in `perturb_messages`; `turn` counts requests from 0.
    """
    if (shown := known.get(item.anchor)) is not None:
        return shown.text, None
    new = NewText(item, (), None, ())
    if allow_new:
        rules = plan.active_rules(item.site)
        new = _NewItem(plan, Conversation(()), BranchCounters(plan), item, turn, 0, True, texts).perturb(
            rules
        )
    return new.text, new


def replay(decisions: Sequence[Decision], item: Item, conversation: Conversation) -> str:
    """The noisy text that stored decisions make of a clean item: no stream is needed, only target and
    draw."""
    text = item.text
    for decision in decisions:
        entry = registry.resolve(decision.operator)
        if observations.PARTS in decision.draw:
            result = observations.replay_observations(entry, text, item.ordinal, decision.draw)
        else:
            target = _target(item, text, conversation, ToolClass.UNKNOWN, 0)
            result = apply_draw(entry, target, decision.draw)
        text = str(result.payload)
    return text


def _same_message(one: Item, other: Item) -> bool:
    return type(one) is type(other) and one.ordinal == other.ordinal


@dataclass(slots=True)
class _NewItem:
    """A new item, and the way that leads to it."""

    plan: Plan
    conversation: Conversation
    counters: BranchCounters
    item: Item
    turn: int
    part: int
    alone: bool
    """Whether it is the only text of its message."""
    texts: Texts | None
    tool_class: ToolClass = ToolClass.UNKNOWN
    """Of the tool whose result it is."""
    _target: TextTarget | None = None
    _spent: Spent = field(init=False)
    _done: list[Decision] = field(default_factory=list)
    """What was done to the text so far."""
    _uncontradicted: str | None = None
    """The text before the first contradiction; None: there is none so far."""

    def __post_init__(self) -> None:
        self._spent = self.counters.spent(self.item) if isinstance(self.item, ToolResult) else _NOTHING_SPENT

    def perturb(self, rules: Mapping[str, ActiveRule]) -> NewText:
        """Let each rule act in its turn on what the one before left."""
        item, counters = self.item, self.counters
        text = item.text
        injections: list[Injection] = []
        done = self._done
        for active in rules.values():
            unsettled = counters.unsettled.get(active.rule.name, ()) if isinstance(item, UserText) else ()
            if not unsettled and not self._is_due(active):
                continue
            full = None if unsettled else counters.full(item, len(done))
            outcome = self._apply(active, text, unsettled, full)
            if outcome is None:
                continue
            if "owed" in outcome.decision.draw and counters.full(item, len(done) + 1):
                outcome = outcome.withhold(solvability.NO_ROOM)
            after = None if outcome.payload is None else str(outcome.payload)
            injections.append(self._describe(outcome, text, after))
            if after is not None:
                if self._uncontradicted is None and shown_text.contradicts(outcome.decision.draw):
                    self._uncontradicted = text
                text = after
                done.append(outcome.decision)
                if outcome.decision.fault:
                    break
        return NewText(item, tuple(done), text if text != item.text else None, tuple(injections))

    def _describe(self, outcome: Outcome, before: str, after: str | None) -> Injection:
        item = self.item
        if not isinstance(item, ToolResult):
            return Injection(outcome.decision, before, after, outcome.note, withheld=outcome.withheld)
        tool, kind = item.call.name, self.tool_class.value
        return Injection(outcome.decision, before, after, outcome.note, tool, kind, outcome.withheld)

    def _is_due(self, active: ActiveRule) -> bool:
        if active.scoped and not in_scope(active.rule, self.item):
            return False
        if active.always:
            return True
        occasion = self.counters.occasion(active, self.turn)
        return due(active.rule.when, active.rule.window, occasion, self.plan.expected_turns)

    def _apply(
        self, active: ActiveRule, text: str, unsettled: tuple[str, ...], full: str | None
    ) -> Outcome | None:
        """Apply one rule to one text. None where its chance or its draw leave the text alone. `full` says
        why there is no room for it, if there is none."""
        rule, entry, item = active.rule, active.entry, self.item
        slot = slot_on(active.line, item.ordinal, self.part)
        if rule.observation and isinstance(item, UserText):
            return observations.apply_to_observations(active, slot, item, text, full)
        if entry.fault and not self.alone:
            return None  # One of a result's several parts: the others would tell the truth all the same.
        # A doubt that has to be settled is not left to chance.
        if not unsettled and not rule.when.by_chance(slot):
            return None
        target = self._target_for(text)
        logical_call = None
        if isinstance(item, ToolResult):
            logical_call = item.logical_call
            if self._permit(entry).if_read_elsewhere:
                active = active._replace(assurance=solvability.READ_ELSEWHERE)
            elif entry.fault and not is_repeatable(self.tool_class):
                active = active._replace(assurance=ASSUMED_REPLAYABLE)
        elif isinstance(target, UserTarget) and (
            unsettled or self._uncontradicted is not None or not self.plan.user_can_answer
        ):
            target = replace(
                target,
                unsettled=unsettled,
                user_can_answer=self.plan.user_can_answer,
                before_contradiction=self._uncontradicted,
            )
        return apply_rule(
            active,
            target,
            slot,
            item.anchor,
            lambda draw, result: self._check(entry, target, draw, str(result.payload)),
            logical_call=logical_call,
            full=full,
            texts=self.texts,
        )

    def _check_shown(self, target: UserTarget, draw: Draw, after: str) -> str | None:
        earlier = [one.draw for one in self._done]
        if any(observations.PARTS in one for one in earlier):
            return None  # What became of an observation has a guard of its own.
        return shown_text.check_shown_text(target.own, target.tools, earlier, draw, target.text, after)

    def _target_for(self, text: str) -> TextTarget:
        """The item with its text as noise has left it: the same target until a rule changes the text."""
        if self._target is None or self._target.text is not text:
            faults = self._spent.faults_on_call
            self._target = _target(self.item, text, self.conversation, self.tool_class, faults)
        return self._target

    def _permit(self, entry: Registered) -> Permission:
        return permit(entry.effect, self.tool_class, self.plan.assume_tools)

    def _read_before(self) -> Iterator[str]:
        """The results on this branch, before this one, that reads gave."""
        tools = self.conversation.tools
        for item in takewhile(lambda one: one is not self.item, self.conversation.items):
            if (
                isinstance(item, ToolResult)
                and self.counters.class_of(item.call.name, tools) is ToolClass.READ_ONLY
            ):
                yield item.text

    def _check(self, entry: Registered, target: TextTarget, draw: Draw, after: str) -> str | None:
        """The guard: on what this operator did, and on the text that is shown after all of them so far."""
        if after == target.text:
            return NOTHING
        if isinstance(target, UserTarget):
            return solvability.check_user_text(entry, target, after) or self._check_shown(target, draw, after)
        if isinstance(target, InstructionsTarget):
            return solvability.check_instructions(target.text, after)
        plan = self.plan
        refused = None
        if entry.fault:
            permission = self._permit(entry)
            refused = solvability.check_fault(target, self._spent, plan.bounds, permission)
            if refused is None and permission.if_read_elsewhere:
                refused = solvability.check_read_elsewhere(target, after, self._read_before())
        return refused or solvability.check_tool_result(entry, target, after, clean=self.item.text)


def _target(
    item: Item, text: str, conversation: Conversation, tool_class: ToolClass, prior_faults: int
) -> TextTarget:
    tools = conversation.tools
    if isinstance(item, UserText):
        first = next((one.text for one in conversation.items if isinstance(one, UserText)), "")
        protected = find_protected_spans(text, tools, item.text)
        return UserTarget(text, item.ordinal, protected, tools, clean=item.text, opening=first)
    if not isinstance(item, ToolResult):
        return InstructionsTarget(text, item.ordinal)
    call = item.call
    return ToolResultTarget(text, item.ordinal, call.name, call.arguments, tool_class, prior_faults, tools)
