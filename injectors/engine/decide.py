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
from crosswind.injectors.engine.plan import CompiledRule, InForce, Plan
from crosswind.injectors.engine.resume import Perturbed, Walked
from crosswind.injectors.engine.rule import Acting, carried_out, failed
from crosswind.injectors.guard import solvability
from crosswind.injectors.guard.solvability import NOTHING
from crosswind.injectors.guard.tool_classes import classify
from crosswind.injectors.identity import slot_on
from crosswind.injectors.operator import Registered
from crosswind.injectors.profiles.schedule import due
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, ToolClass, ToolResultTarget, UserTarget
from crosswind.injectors.text.entities import protected_spans
from crosswind.injectors.wording import Texts, applied, remark

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
            text = str(observations.replayed(entry, text, item.ordinal, decision.draw).payload)
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
        self._done = 0
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
        for one in self._plan.in_force(self._site).values():
            owed = path.owed.get(one.rule.name, ()) if isinstance(item, UserText) else ()
            full = None if owed else path.full(item, len(done))
            injection = self._act(one, text, owed, full) if owed or self._is_due(one) else None
            if injection is None:
                continue
            injections.append(injection)
            if injection.after is not None:
                text = injection.after
                done.append(injection.decision)
                self._done = len(done)
                if injection.decision.fault:
                    break
        return NewlyShown(item, tuple(done), text if text != item.text else None, tuple(injections))

    def _is_due(self, one: InForce) -> bool:
        if one.scoped and not in_scope(one.rule, self._item):
            return False
        if one.always:
            return True
        occasion = self._path.occasion(one, self._place.turn)
        return due(one.rule.when, one.rule.window, occasion, self._plan.expected_turns)

    def _act(self, one: InForce, text: str, owed: tuple[str, ...], full: str | None) -> Injection | None:
        """One rule's work on one text. None where its chance or its draw leave the text alone; what it owes
        is not left to chance. `full` says why there is no room for it, where there is none.
        """
        rule, entry = one.rule, one.entry
        if rule.observation:
            return self._observed(one, text, full)
        if entry.fault and not self._place.alone:
            return None  # One of a result's several parts: the others would tell the truth all the same.
        slot = slot_on(one.line, self._item.ordinal, self._place.part)
        if not owed and not rule.when.by_chance(slot):
            return None
        target = self._as_it_is(text)
        if isinstance(target, UserTarget):
            answers = self._plan.user_can_answer
            target = replace(target, owed=owed, user_can_answer=answers) if owed or not answers else target
        try:
            drawn = entry.draw(rule.options, target, Stream(slot), rule.severity)
        except Exception as error:
            return self._withdrawn(rule, entry, slot, {}, text, failed(error))
        return None if drawn is None else self._carried_out(rule, entry, slot, target, drawn, full)

    def _observed(self, one: InForce, text: str, full: str | None) -> Injection | None:
        """One rule's work on the observations that its mark finds in a user's message."""
        rule, entry, ordinal = one.rule, one.entry, self._item.ordinal
        slot = slot_on(one.line, ordinal, self._place.part)
        draw, why = observations.drawn(one, text, ordinal)
        if not draw[observations.PARTS] and why is None:
            return None
        if why is not None or full is not None:
            return self._withdrawn(rule, entry, slot, draw, text, why or full or "")
        result = observations.replayed(entry, text, ordinal, draw)
        if result.payload == text:
            return None
        note = f"{result.note} {solvability.why_solvable(entry, self._plan.bounds)}"
        return self._injection(self._decision(rule, entry, slot, draw), text, str(result.payload), note)

    def _carried_out(
        self,
        rule: CompiledRule,
        entry: Registered,
        slot: str,
        target: UserTarget | ToolResultTarget,
        drawn: Draw,
        full: str | None,
    ) -> Injection | None:
        """What comes of a draw; None where it changes nothing."""
        attempt = carried_out(
            Acting(entry, target, slot, rule.severity, rule.prompt),
            drawn,
            lambda result: self._refused(entry, target, str(result.payload)) or full,
            None if full else self._texts,
        )
        if attempt.refused == NOTHING:
            return None
        if "owed" in attempt.draw and self._path.full(self._item, self._done + 1):
            return self._withdrawn(rule, entry, slot, attempt.draw, target.text, solvability.NO_ROOM)
        if attempt.refused is not None or attempt.result is None:
            return self._withdrawn(rule, entry, slot, attempt.draw, target.text, attempt.refused or NOTHING)
        why = solvability.why_solvable(entry, self._plan.bounds)
        note = f"{attempt.result.note} {why}{remark(attempt.draw)}"
        decision = self._decision(rule, entry, slot, attempt.draw)
        return self._injection(decision, target.text, str(attempt.result.payload), note)

    def _withdrawn(
        self, rule: CompiledRule, entry: Registered, slot: str, draw: Draw, text: str, why: str
    ) -> Injection:
        return self._injection(self._decision(rule, entry, slot, draw), text, None, f"Not injected: {why}.")

    def _as_it_is(self, text: str) -> UserTarget | ToolResultTarget:
        """The item with what noise has made of its text so far: the same one till a rule changes it."""
        if self._target is None or self._target.text is not text:
            faults = self._spent.faults_on_call
            self._target = _target(self._item, text, self._conversation, self._class, faults)
        return self._target

    def _decision(self, rule: CompiledRule, entry: Registered, slot: str, draw: Draw) -> Decision:
        call = self._item.logical_call if isinstance(self._item, ToolResult) else None
        return Decision(
            operator=rule.operator,
            rule=rule.name,
            site=self._site.value,
            slot=slot,
            anchor=self._item.anchor,
            logical_call=call,
            severity=rule.severity,
            draw=draw,
            recovery=entry.recovery.value,
        )

    def _injection(self, decision: Decision, before: str, after: str | None, note: str) -> Injection:
        if self._call is None:
            return Injection(decision, before, after, note)
        return Injection(decision, before, after, note, self._call.name, self._class.value)

    def _refused(self, entry: Registered, target: UserTarget | ToolResultTarget, after: str) -> str | None:
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
