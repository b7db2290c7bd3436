"""Noise on the texts of a conversation: show again what was decided before, decide what is new.

The items are walked in order, and the decisions of known anchors are counted, so that bounds and schedules
run along the conversation's own branch: the same conversation gives the same view, and a longer one never
changes its beginning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile

import msgspec

from crosswind.injectors import registry
from crosswind.injectors.conversation import (
    Conversation,
    InstructionText,
    Item,
    Ref,
    ToolResult,
    ToolSchema,
    UserText,
)
from crosswind.injectors.engine import observations
from crosswind.injectors.engine.counters import BranchCounters, in_scope
from crosswind.injectors.engine.decision import Decision, Injection, KnownText, NewText
from crosswind.injectors.engine.plan import NO_RULES, ActiveRule, Plan
from crosswind.injectors.engine.resume import MessageNoise, WalkEnd
from crosswind.injectors.engine.rule import Outcome, carry_out, conclude, draw_rule, draw_where_possible
from crosswind.injectors.guard import shown_text, solvability
from crosswind.injectors.guard.solvability import NOTHING
from crosswind.injectors.guard.tool_classes import ASSUMED_REPLAYABLE, Permission, is_repeatable, permit
from crosswind.injectors.identity import slot_on
from crosswind.injectors.operator import Registered
from crosswind.injectors.profiles.schedule import due
from crosswind.injectors.targets import (
    NO_BRANCH,
    Branch,
    Draw,
    EarlierTexts,
    InstructionsTarget,
    ToolClass,
    ToolResultTarget,
    UserTarget,
)
from crosswind.injectors.text.entities import ProtectedSpans
from crosswind.injectors.wording import Texts, apply_draw

TextTarget = UserTarget | InstructionsTarget | ToolResultTarget
_CLEAN = KnownText(None)


def perturb_messages(
    plan: Plan,
    conversation: Conversation,
    known: Mapping[str, KnownText],
    *,
    allow_new: bool = True,
    texts: Texts | None = None,
    walked: WalkEnd | None = None,
    elsewhere: frozenset[str] = frozenset(),
) -> MessageNoise:
    """The noise of the conversation under the plan.

    `known` is the session's ledger by anchor. With `allow_new` False nothing is injected that wasn't before;
    new items are still reported, as shown clean. Items that the upstream holds are as they were shown, or
    clean: they are not reported. `texts` are a model's, for operators that may have one write. `walked` is an
    earlier walk with which this one begins. Nothing new is decided on results of the tools named in
    `elsewhere`: another leg perturbs them. Pure; an operator that fails leaves the clean text and a withheld
    injection.
    """
    items, held, tools = conversation.items, conversation.held, conversation.tools
    rules_by_site = plan.rules_by_site
    if walked is None:
        counters, shown_texts, turn, part, start = BranchCounters(plan), dict[Ref, str](), 0, 0, 0
    else:
        counters, shown_texts = walked.counters.copy(), dict(walked.texts)
        turn, part, start = walked.turn, walked.part, len(walked.items)
    writer: _TextNoise | None = None
    new: list[NewText] = []
    certain = True
    before = items[start - 1] if start else None
    continued = before is not None and _goes_on(items, start - 1)
    for at in range(start, len(items)):
        item = items[at]
        if before is not None:
            # Between two turns stands at least one message of the policy.
            turn += item.ref.message - before.ref.message > 1
            part = part + 1 if continued else 0
        before, continued = item, _goes_on(items, at)
        rules = rules_by_site.get(item.site, NO_RULES)
        tool = item.call.name if isinstance(item, ToolResult) else None
        tool_class = counters.class_of(tool, tools) if rules and tool is not None else ToolClass.UNKNOWN
        shown = known.get(item.anchor)
        if shown is None and item.ref.message < held:
            certain, shown = False, _CLEAN
        elif shown is None:
            if allow_new and rules and tool not in elsewhere:
                alone = part == 0 and not continued
                writer = writer or _TextNoise(plan, conversation, counters, texts)
                decided = writer.perturb(at, item, rules, turn, part, tool_class, alone=alone)
            else:
                decided = NewText(item, (), None, ())
            new.append(decided)
            shown = KnownText(decided.text, decided.decisions) if decided.decisions else _CLEAN
        if shown.text is not None and shown.text != item.text:
            shown_texts[item.ref] = shown.text
        counters.count(item, shown.decisions, rules, tool_class)
    end = None
    if items and certain:
        end = WalkEnd(plan, known, items, tuple(new), shown_texts, counters, turn, part)
    return MessageNoise(_select_replaceable(shown_texts, held), new, end)


def _select_replaceable(shown: Mapping[Ref, str], held: int) -> dict[Ref, str]:
    """A copy for the caller to change, without what the upstream holds: the walk keeps that."""
    return {ref: text for ref, text in shown.items() if ref.message >= held} if held else dict(shown)


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
    if not allow_new:
        return None, NewText(item, (), None, ())
    writer = _TextNoise(plan, Conversation(()), BranchCounters(plan), texts)
    rules = plan.rules_by_site.get(item.site, NO_RULES)
    new = writer.perturb(0, item, rules, turn, 0, ToolClass.UNKNOWN, alone=True)
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
            result = apply_draw(entry, _clean_target(item, text, conversation), decision.draw)
        text = str(result.payload)
    return text


def _goes_on(items: Sequence[Item], at: int) -> bool:
    """Whether the next text is of the same message."""
    if at + 1 == len(items):
        return False
    one, other = items[at], items[at + 1]
    return one.ordinal == other.ordinal and type(one) is type(other)


class _TextNoise:
    """Noise on the new texts of one walk, one after the other."""

    __slots__ = (
        "_alone",
        "_branch",
        "_conversation",
        "_counters",
        "_done",
        "_item",
        "_opening",
        "_part",
        "_plan",
        "_target",
        "_texts",
        "_tool_class",
        "_turn",
        "_uncontradicted",
    )

    def __init__(
        self, plan: Plan, conversation: Conversation, counters: BranchCounters, texts: Texts | None
    ) -> None:
        self._plan, self._conversation, self._counters, self._texts = plan, conversation, counters, texts
        self._opening = next((one.text for one in conversation.items if isinstance(one, UserText)), "")

    def perturb(
        self,
        at: int,
        item: Item,
        rules: Mapping[str, ActiveRule],
        turn: int,
        part: int,
        tool_class: ToolClass,
        *,
        alone: bool,
    ) -> NewText:
        """Let each rule act in its turn on what the one before left. `at` is the item's index,
        `tool_class` that of the tool whose result it is; `alone` says whether it is the only text of its
        message."""
        items, plan = self._conversation.items, self._plan
        self._branch = Branch(
            plan.phrases,
            plan.session_key,
            self._opening,
            EarlierTexts(items, at),
            self._counters.phrases,
            self._counters.called,
        )
        self._item, self._turn, self._part, self._tool_class, self._alone = (
            item,
            turn,
            part,
            tool_class,
            alone,
        )
        self._done: list[Decision] = []
        self._target: TextTarget | None = None
        self._uncontradicted: str | None = None
        """The text before the first contradiction; None: there is none so far."""
        text, injections = item.text, list[Injection]()
        doubts = self._counters.unsettled if isinstance(item, UserText) else None
        for active in rules.values():
            unsettled = doubts.get(active.rule.name, ()) if doubts else ()
            if unsettled and self._counters.waits(active.rule.name):
                continue
            if not (active.certain or unsettled or self._is_due(active)):
                continue
            outcome = self._apply(active, text, unsettled)
            if outcome is None:
                continue
            if "owed" in outcome.decision.draw and self._full(1):
                outcome = outcome.withhold(solvability.NO_ROOM)
            after = None if outcome.payload is None else str(outcome.payload)
            injections.append(self._describe(outcome, text, after))
            if after is not None:
                if self._uncontradicted is None and shown_text.contradicts(outcome.decision.draw):
                    self._uncontradicted = text
                text = after
                self._done.append(outcome.decision)
                if active.entry.fault:
                    break
        if not injections:
            return NewText(item, (), None, ())
        return NewText(item, tuple(self._done), text if text != item.text else None, tuple(injections))

    def _describe(self, outcome: Outcome, before: str, after: str | None) -> Injection:
        item = self._item
        if not isinstance(item, ToolResult):
            return Injection(outcome.decision, before, after, outcome.note, withheld=outcome.withheld)
        tool, kind = item.call.name, self._tool_class.value
        return Injection(outcome.decision, before, after, outcome.note, tool, kind, outcome.withheld)

    def _is_due(self, active: ActiveRule) -> bool:
        if active.scoped and not in_scope(active.rule, self._item):
            return False
        if active.always:
            return True
        occasion = self._counters.occasion(active, self._turn, self._item, self._conversation.tools)
        when = (self._must_act(active) and active.until_exposed) or active.rule.when
        return due(when, active.rule.window, occasion, self._plan.expected_turns)

    def _must_act(self, active: ActiveRule) -> bool:
        """Whether the rule acts on this item if it can: it has to act once, and hasn't yet."""
        return active.until_exposed is not None and not self._counters.has_acted(active.rule)

    def _full(self, more: int = 0) -> str | None:
        """Why there is no room for an injection, with so many more; None: there is."""
        return self._counters.full(self._item, len(self._done) + more)

    def _apply(self, active: ActiveRule, text: str, unsettled: tuple[str, ...]) -> Outcome | None:
        """Apply one rule to one text. None where its chance or its draw leave the text alone."""
        rule, entry, item = active.rule, active.entry, self._item
        slot = slot_on(active.line, item.ordinal, self._part)
        if rule.observation and isinstance(item, UserText):
            full = None if unsettled else self._full()
            must = self._must_act(active)
            half = self._plan.phrases
            return observations.apply_to_observations(active, slot, item, text, full, half=half, must=must)
        if entry.fault and not self._alone:
            return None  # One of a result's several parts: the others would tell the truth all the same.
        # A doubt that has to be settled is not left to chance.
        must = active.until_exposed is not None and not unsettled and self._must_act(active)
        if not (active.certain or unsettled or must or rule.when.by_chance(slot)):
            return None
        target = self._target_for(text, unsettled)
        if active.entries and not isinstance(target, InstructionsTarget):
            branch = msgspec.structs.replace(self._branch, entries=active.entries)
            target = replace(target, branch=branch)
        draw = draw_where_possible if must else draw_rule
        drawn = draw(active, target, slot, item.anchor, self._texts)
        if drawn is None:
            return None
        attempt = carry_out(
            active,
            target,
            slot,
            drawn,
            lambda draw, result: self._check(entry, target, draw, str(result.payload)),
            full=None if unsettled else self._full(),
            texts=self._texts,
        )
        if not isinstance(item, ToolResult):
            return conclude(active, slot, item.anchor, attempt)
        assurance = ""
        if self._permit(entry).if_read_elsewhere:
            assurance = solvability.READ_ELSEWHERE
        elif entry.fault and not is_repeatable(self._tool_class):
            assurance = ASSUMED_REPLAYABLE
        return conclude(active, slot, item.anchor, attempt, item.logical_call, assurance)

    def _check_shown(self, target: UserTarget, draw: Draw, after: str) -> str | None:
        earlier = [one.draw for one in self._done]
        if any(observations.PARTS in one for one in earlier):
            return None  # What became of an observation has a guard of its own.
        clean = self._item.text
        return shown_text.check_shown_text(clean, target.tools, earlier, draw, target.text, after)

    def _target_for(self, text: str, unsettled: tuple[str, ...]) -> TextTarget:
        """The item with its text as noise has left it: the same target until a rule changes the text."""
        target, item = self._target, self._item
        if isinstance(item, UserText):
            return _user_target(
                item,
                text,
                self._conversation.tools,
                self._branch,
                unsettled,
                self._uncontradicted,
                self._plan.user_can_answer,
            )
        if target is None or target.text is not text:
            if isinstance(item, ToolResult):
                faults = self._counters.faults_on(item)
                tools = self._conversation.tools
                target = _result_target(item, text, tools, self._branch, self._tool_class, faults)
            else:
                target = InstructionsTarget(text, item.ordinal, self._branch)
            self._target = target
        return target

    def _permit(self, entry: Registered) -> Permission:
        return permit(entry.effect, self._tool_class, self._plan.assume_tools)

    def _read_before(self) -> Iterator[str]:
        """The results on this branch, before this one, that reads gave."""
        tools = self._conversation.tools
        for item in takewhile(lambda one: one is not self._item, self._conversation.items):
            if (
                isinstance(item, ToolResult)
                and self._counters.class_of(item.call.name, tools) is ToolClass.READ_ONLY
            ):
                yield item.text

    def _check(self, entry: Registered, target: TextTarget, draw: Draw, after: str) -> str | None:
        """The guard: on what this operator did, and on the text that is shown after all of them so far."""
        if after == target.text:
            return NOTHING
        if isinstance(target, UserTarget):
            refused = solvability.check_user_text(entry, target, after, draw)
            return refused or self._check_shown(target, draw, after)
        if isinstance(target, InstructionsTarget):
            return solvability.check_instructions(target.text, after)
        refused = None
        if entry.fault:
            permission = self._permit(entry)
            assert isinstance(self._item, ToolResult)
            spent = self._counters.spent(self._item)
            bounds, declared = self._plan.bounds, self._plan.tool_classes
            refused = solvability.check_fault(target, spent, bounds, permission, declared)
            if refused is None and permission.if_read_elsewhere:
                refused = solvability.check_read_elsewhere(target, after, self._read_before())
        return refused or solvability.check_tool_result(entry, target, after, clean=self._item.text)


def _user_target(
    item: UserText,
    text: str,
    tools: tuple[ToolSchema, ...],
    branch: Branch,
    unsettled: tuple[str, ...] = (),
    uncontradicted: str | None = None,
    can_answer: bool = True,
) -> UserTarget:
    return UserTarget(
        text,
        item.ordinal,
        ProtectedSpans(text, tools, item.text),
        tools,
        can_answer,
        item.text,
        branch,
        unsettled,
        uncontradicted,
    )


def _result_target(
    item: ToolResult,
    text: str,
    tools: tuple[ToolSchema, ...],
    branch: Branch,
    tool_class: ToolClass,
    faults: int,
) -> ToolResultTarget:
    name, arguments = item.call.name, item.call.arguments
    return ToolResultTarget(text, item.ordinal, name, arguments, tool_class, faults, tools, branch=branch)


def _clean_target(item: Item, text: str, conversation: Conversation) -> TextTarget:
    """What a stored draw is applied to: it needs no more than the text."""
    if isinstance(item, UserText):
        return _user_target(item, text, conversation.tools, NO_BRANCH)
    if isinstance(item, ToolResult):
        return _result_target(item, text, conversation.tools, NO_BRANCH, ToolClass.UNKNOWN, 0)
    return InstructionsTarget(text, item.ordinal)
