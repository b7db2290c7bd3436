"""The noise of one conversation: what was decided before is found again, what is new is decided.

`perturb` walks the items in order. The decisions of known anchors are counted, so that bounds and schedules
run along the conversation's own path: the same conversation gives the same view, and a longer one never
changes its beginning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from crosswind.injectors import registry
from crosswind.injectors.conversation import Conversation, Ref, Site, ToolResult, UserText
from crosswind.injectors.engine import observations
from crosswind.injectors.engine.counters import Path, Place, in_scope
from crosswind.injectors.engine.decision import Decision, Injection, Item, Known, NewlyShown
from crosswind.injectors.engine.plan import ActiveRule, Plan
from crosswind.injectors.engine.resume import Perturbed, Walked
from crosswind.injectors.engine.rule import Outcome, apply_rule
from crosswind.injectors.guard import solvability
from crosswind.injectors.guard.solvability import NOTHING
from crosswind.injectors.guard.tool_classes import classify
from crosswind.injectors.identity import slot_on
from crosswind.injectors.operator import Registered
from crosswind.injectors.profiles.schedule import due
from crosswind.injectors.targets import ToolClass, ToolResultTarget, UserTarget
from crosswind.injectors.text.entities import protected_spans
from crosswind.injectors.wording import Texts, applied

__all__ = ["Decision", "Injection", "Item", "Known", "NewlyShown", "Perturbed", "perturb", "replay"]

_CLEAN = Known(None)


def perturb(
    plan: Plan,
    conversation: Conversation,
    known: Mapping[str, Known],
    *,
    allow_new: bool = True,
    texts: Texts | None = None,
    walked: Walked | None = None,
) -> Perturbed:
    """The noise of the conversation under the plan.

    `known` is the session's ledger by anchor. With `allow_new` False nothing is injected that wasn't before;
    new items are still reported, as shown clean. Items that are held elsewhere are as they were shown, or
    clean: they are not reported. `texts` are a model's, for operators that may have one write. `walked` is an
    earlier walk with which this one begins. Pure; an operator that fails leaves the clean text and a
    withdrawn injection.
    """
    items, held = conversation.items, conversation.held
    path, shown_texts, turn, part, start = Path(plan), dict[Ref, str](), 0, 0, 0
    if walked is not None:
        path, shown_texts = walked.path.copy(), dict(walked.texts)
        turn, part, start = walked.turn, walked.part, len(walked.items)
    new: list[NewlyShown] = []
    certain = True
    for at in range(start, len(items)):
        item = items[at]
        if at > 0:
            # Between two turns stands at least one message of the policy.
            turn += item.ref.message - items[at - 1].ref.message > 1
            part = part + 1 if _same_message(items[at - 1], item) else 0
        shown = known.get(item.anchor)
        if shown is None and item.ref.message < held:
            certain, shown = False, _CLEAN
        elif shown is None:
            decided = NewlyShown(item, (), None, ())
            if allow_new:
                decided = _Walk(plan, conversation, path, _place(items, at, turn, part), texts).decide()
            new.append(decided)
            shown = Known(decided.text, decided.decisions)
        if shown.text is not None and shown.text != item.text:
            shown_texts[item.ref] = shown.text
        path.passed(item, shown.decisions)
    end = Walked(plan, known, items, tuple(new), shown_texts, path, turn, part) if items and certain else None
    ours = {ref: text for ref, text in shown_texts.items() if ref.message >= held} if held else shown_texts
    return Perturbed(ours.copy(), new, end)


def replay(decisions: Sequence[Decision], item: Item, conversation: Conversation) -> str:
    """The noisy text that stored decisions make of a clean item: no stream is needed, only target and
    draw."""
    text = item.text
    for decision in decisions:
        entry = registry.resolve(decision.operator)
        if observations.PARTS in decision.draw:
            text = str(observations.replay_observations(entry, text, item.ordinal, decision.draw).payload)
            continue
        target = _target(item, text, conversation, ToolClass.UNKNOWN, 0)
        text = str(applied(entry, target, decision.draw).payload)
    return text


def _place(items: Sequence[Item], at: int, turn: int, part: int) -> Place:
    more = at + 1 < len(items) and _same_message(items[at], items[at + 1])
    return Place(items[at], turn, part, alone=part == 0 and not more)


def _same_message(one: Item, other: Item) -> bool:
    return type(one) is type(other) and one.ordinal == other.ordinal


class _Walk:
    """One stop on the walk: a new item, and the path that leads to it."""

    def __init__(
        self, plan: Plan, conversation: Conversation, path: Path, place: Place, texts: Texts | None
    ) -> None:
        self._plan = plan
        self._texts = texts
        self._conversation = conversation
        self._path = path
        self._place = place
        self._item = place.item
        self._call = self._item.call if isinstance(self._item, ToolResult) else None
        self._site = Site.USER_TEXT if self._call is None else Site.TOOL_RESULT
        self._class = classify(self._call.name, plan.tool_classes) if self._call else ToolClass.UNKNOWN
        self._spent = path.spent(place.item)
        self._target: UserTarget | ToolResultTarget | None = None

    def decide(self) -> NewlyShown:
        """Let each rule act in its turn on what the one before left."""
        item, path = self._item, self._path
        text = item.text
        injections: list[Injection] = []
        done: list[Decision] = []
        tool = None if self._call is None else self._call.name
        tool_class = None if self._call is None else self._class.value
        for active in self._plan.active_rules(self._site).values():
            owed = path.owed.get(active.rule.name, ()) if isinstance(item, UserText) else ()
            full = None if owed else path.full(item, len(done))
            # A doubt that is to be settled now is not left to the schedule.
            outcome = self._act(active, text, owed, full) if owed or self._is_due(active) else None
            if outcome is None:
                continue
            if "owed" in outcome.decision.draw and path.full(item, len(done) + 1):
                outcome = outcome.withdraw(solvability.NO_ROOM)
            after = None if outcome.payload is None else str(outcome.payload)
            injections.append(Injection(outcome.decision, text, after, outcome.note, tool, tool_class))
            if after is not None:
                text = after
                done.append(outcome.decision)
                if outcome.decision.fault:
                    break
        return NewlyShown(item, tuple(done), text if text != item.text else None, tuple(injections))

    def _is_due(self, active: ActiveRule) -> bool:
        if active.scoped and not in_scope(active.rule, self._item):
            return False
        if active.always:
            return True
        occasion = self._path.occasion(active, self._place.turn)
        return due(active.rule.when, active.rule.window, occasion, self._plan.expected_turns)

    def _act(self, active: ActiveRule, text: str, owed: tuple[str, ...], full: str | None) -> Outcome | None:
        """One rule's work on one text. None where its chance or its draw leave the text alone. `full` says
        why there is no room for it, if there is none."""
        rule, entry, item = active.rule, active.entry, self._item
        slot = slot_on(active.line, item.ordinal, self._place.part)
        if rule.observation and isinstance(item, UserText):
            return observations.apply_to_observations(active, slot, item, text, full)
        if entry.fault and not self._place.alone:
            return None  # One of a result's several parts: the others would tell the truth all the same.
        if not owed and not rule.when.by_chance(slot):
            return None
        target = self._target_of(text)
        if isinstance(target, UserTarget):
            answers = self._plan.user_can_answer
            target = replace(target, owed=owed, user_can_answer=answers) if owed or not answers else target
        return apply_rule(
            active,
            target,
            slot,
            item.anchor,
            lambda result: self._check(entry, target, str(result.payload)),
            logical_call=item.logical_call if isinstance(item, ToolResult) else None,
            full=full,
            texts=self._texts,
        )

    def _target_of(self, text: str) -> UserTarget | ToolResultTarget:
        """The item with what noise has made of its text so far: the same one till a rule changes it."""
        if self._target is None or self._target.text is not text:
            faults = self._spent.faults_on_call
            self._target = _target(self._item, text, self._conversation, self._class, faults)
        return self._target

    def _check(self, entry: Registered, target: UserTarget | ToolResultTarget, after: str) -> str | None:
        if after == target.text:
            return NOTHING
        if isinstance(target, UserTarget):
            return solvability.after_user(entry, target, after)
        plan = self._plan
        if entry.fault and (
            reason := solvability.before_fault(target, self._spent, plan.bounds, plan.assume_tools)
        ):
            return reason
        return solvability.after_tool(entry, target, after, clean=self._item.text)


def _target(
    item: Item, text: str, conversation: Conversation, tool_class: ToolClass, prior_faults: int
) -> UserTarget | ToolResultTarget:
    tools = conversation.tools
    if isinstance(item, UserText):
        first = next((one.text for one in conversation.items if isinstance(one, UserText)), "")
        protected = protected_spans(text, tools)
        return UserTarget(text, item.ordinal, protected, tools, clean=item.text, opening=first)
    call = item.call
    return ToolResultTarget(text, item.ordinal, call.name, call.arguments, tool_class, prior_faults, tools)
