"""The noise of one conversation: what was decided before is found again, what is new is decided.

`perturb` walks the items in order. The decisions of known anchors are counted, so that bounds and schedules run along
the conversation's own path: the same conversation gives the same view, and a longer one never changes its beginning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from injectors import registry, solvability
from injectors.conversation import Conversation, Ref, Site, ToolResult, UserText
from injectors.entities import protected_spans
from injectors.identity import Slot
from injectors.operator import Draw, Recovery, Registered, ToolClass, ToolResultTarget, UserTarget
from injectors.path import Path, Place
from injectors.plan import CompiledRule, Plan
from injectors.schedule import due
from injectors.streams import Stream
from injectors.tool_classes import classify

Item = UserText | ToolResult


@dataclass(frozen=True, slots=True)
class Decision:
    """One application of an operator. With the clean payload it gives the noisy one again: see `replay`."""

    operator: str
    rule: str
    site: str
    slot: str
    anchor: str
    logical_call: str | None
    severity: float
    draw: Draw
    recovery: str

    def to_json(self) -> dict[str, Any]:
        """The decision as JSON data."""
        data: dict[str, Any] = msgspec.to_builtins(self)
        return data

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Decision:
        """The decision that `to_json` gave. ValueError where the data are no decision."""
        try:
            return msgspec.convert(data, Decision)
        except msgspec.ValidationError as error:
            raise ValueError(
                f"not a decision: {error}; give the JSON data that Decision.to_json wrote"
            ) from error


@dataclass(frozen=True, slots=True)
class Known:
    """What the ledger knows of an anchor: the noisy text (None: shown clean) and the decisions that made it."""

    text: str | None
    decisions: tuple[Decision, ...] = ()


@dataclass(frozen=True, slots=True)
class Injection:
    """What an operator did to a text, or would have done: `after` is None where it was withdrawn; `note` says why."""

    decision: Decision
    before: str
    after: str | None
    note: str
    tool: str | None = None
    tool_class: str | None = None


@dataclass(frozen=True, slots=True)
class NewlyShown:
    """An item whose anchor was unknown. `text` is None where it is shown clean."""

    item: Item
    decisions: tuple[Decision, ...]
    text: str | None
    injections: tuple[Injection, ...]


@dataclass(slots=True)
class Perturbed:
    """The noise of a conversation: all texts that differ from the clean ones, and what is new since the ledger."""

    replacements: dict[Ref, str] = field(default_factory=dict)
    new: list[NewlyShown] = field(default_factory=list)


def perturb(
    plan: Plan, conversation: Conversation, known: Mapping[str, Known], *, allow_new: bool = True
) -> Perturbed:
    """The noise of the conversation under the plan.

    `known` is the session's ledger by anchor. With `allow_new` False nothing is injected that wasn't before; new items
    are still reported, as shown clean. Pure; an operator that fails leaves the clean text and a withdrawn injection.
    """
    out = Perturbed()
    path = Path(plan)
    for place in _places(conversation):
        item = place.item
        before = known.get(item.anchor)
        if before is None:
            shown = _decide(plan, conversation, path, place) if allow_new else NewlyShown(item, (), None, ())
            out.new.append(shown)
            before = Known(shown.text, shown.decisions)
        if before.text is not None and before.text != item.text:
            out.replacements[item.ref] = before.text
        path.passed(place, [(decision.rule, _is_fault(decision)) for decision in before.decisions])
    return out


def replay(decisions: tuple[Decision, ...], item: Item, conversation: Conversation) -> str:
    """The noisy text that stored decisions make of a clean item: `apply` needs the target and the draw, no stream."""
    text = item.text
    for decision in decisions:
        entry = registry.resolve(decision.operator)
        text = str(
            entry.implementation.apply(
                _target(item, text, conversation, ToolClass.UNKNOWN, 0), decision.draw
            ).payload
        )
    return text


def _places(conversation: Conversation) -> Iterator[Place]:
    """The items with their turn and part. Between two turns stands at least one message of the policy."""
    items = conversation.items
    turn = part = 0
    for at, item in enumerate(items):
        if at > 0:
            previous = items[at - 1]
            turn += item.ref.message - previous.ref.message > 1
            same_message = type(previous) is type(item) and previous.ordinal == item.ordinal
            part = part + 1 if same_message else 0
        following = items[at + 1] if at + 1 < len(items) else None
        alone = part == 0 and not (type(following) is type(item) and following.ordinal == item.ordinal)
        yield Place(item, turn, part, alone)


def _decide(plan: Plan, conversation: Conversation, path: Path, place: Place) -> NewlyShown:
    item = place.item
    site = Site.USER_TEXT if isinstance(item, UserText) else Site.TOOL_RESULT
    tool_class = classify(item.call.name, plan.tool_classes) if isinstance(item, ToolResult) else None
    text = item.text
    injections: list[Injection] = []
    for rule in path.rules:
        if not path.in_scope(rule, place):
            continue
        entry = registry.operators().get(rule.operator)
        if entry is None or entry.site is not site or (entry.fault and not place.alone):
            continue
        if path.events + sum(one.after is not None for one in injections) >= plan.bounds.events_per_session:
            break
        if not due(rule.when, rule.window, path.occasion(rule, place.turn), plan.expected_turns):
            continue
        injection = _inject(plan, conversation, path, place, rule, entry, text, tool_class)
        if injection is None:
            continue
        injections.append(injection)
        if injection.after is not None:
            text = injection.after
            if entry.fault:
                break
    done = tuple(one.decision for one in injections if one.after is not None)
    return NewlyShown(item, done, text if text != item.text else None, tuple(injections))


def _inject(
    plan: Plan,
    conversation: Conversation,
    path: Path,
    place: Place,
    rule: CompiledRule,
    entry: Registered,
    text: str,
    tool_class: ToolClass | None,
) -> Injection | None:
    """One rule's work on one text. None where schedule or draw leave it alone."""
    item = place.item
    call = item.logical_call if isinstance(item, ToolResult) else None
    tool = item.call.name if isinstance(item, ToolResult) else None
    slot = Slot(
        plan.seed,
        plan.scope,
        plan.scope_key,
        rule.operator,
        entry.site,
        item.ordinal,
        rule=rule.name,
        part=place.part,
    ).key()
    if not Stream(f"{slot}|when").chance(rule.when.probability):
        return None
    spent = path.spent(call)
    draw: Draw = {}
    after: str | None = None
    try:
        target = _target(item, text, conversation, tool_class or ToolClass.UNKNOWN, spent.faults_on_call)
        drawn = entry.implementation.draw(target, Stream(slot), rule.severity)
        if drawn is None:
            return None
        draw = drawn
        result = entry.implementation.apply(target, draw)
        after = str(result.payload)
        if after == text:
            return None
        refused = _refused(plan, entry, target, spent, after, item.text)
        note = f"{result.note} {solvability.why_solvable(entry.recovery, plan.bounds)}"
    except Exception as error:
        # Noise must never break traffic: whatever an operator does wrong, the clean payload goes through.
        refused, note = f"operator {rule.operator} failed ({type(error).__name__})", ""
    if refused is not None:
        after, note = None, f"Not injected: {refused}."
    decision = Decision(
        rule.operator,
        rule.name,
        entry.site.value,
        slot,
        item.anchor,
        call,
        rule.severity,
        draw,
        entry.recovery.value,
    )
    return Injection(decision, text, after, note, tool, tool_class.value if tool_class else None)


def _target(
    item: Item, text: str, conversation: Conversation, tool_class: ToolClass, prior_faults: int
) -> UserTarget | ToolResultTarget:
    if isinstance(item, UserText):
        return UserTarget(text, item.ordinal, protected_spans(text, conversation.tools), conversation.tools)
    call = item.call
    return ToolResultTarget(
        text, item.ordinal, call.name, call.arguments, tool_class, prior_faults, conversation.tools
    )


def _refused(
    plan: Plan,
    entry: Registered,
    target: UserTarget | ToolResultTarget,
    spent: solvability.Spent,
    after: str,
    clean: str,
) -> str | None:
    if isinstance(target, UserTarget):
        return solvability.after_user(entry, target, after)
    if entry.fault and (reason := solvability.before_fault(target, spent, plan.bounds, plan.assume_tools)):
        return reason
    return solvability.after_tool(entry, target, after, clean)


def _is_fault(decision: Decision) -> bool:
    entry = registry.operators().get(decision.operator)
    if entry is not None:
        return entry.fault
    # Decided by an operator that is no longer installed: count it on the safe side.
    return decision.recovery in (Recovery.RETRY, Recovery.OTHER_TOOL)
