"""Decide the noise of whole conversations as a gateway would, to show it or to count it.

A forecast is the mean over many seeds: nothing is estimated, as far as the conversation tells. What an agent
does differently because of noise (a call made again, say) isn't in a conversation that is over.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from crosswind.injectors.conversation import Conversation, InstructionText, ToolResult
from crosswind.injectors.engine.decision import Decision, Injection
from crosswind.injectors.engine.faults import FaultMemory, decide_faults
from crosswind.injectors.engine.messages import perturb_messages
from crosswind.injectors.engine.plan import NOISY, Assignment, Plan, Seed, make_plan
from crosswind.injectors.engine.system_prompt import perturb_instructions
from crosswind.injectors.engine.tools import perturb_tools
from crosswind.injectors.guard.tools import ToolConstraints
from crosswind.injectors.profiles.load import Profile
from crosswind.injectors.wording import Texts


@dataclass(frozen=True, slots=True)
class PreviewEvent:
    """One event. `after` is None where the guard withdrew it; `before` is empty where there was no text."""

    decision: Decision
    place: str
    before: str
    after: str | None
    note: str
    message: int | None = None
    """The message that it is about; None: the tools, or an answer."""
    answer: int | None = None
    """The answer that it is about, from 0."""


def preview(
    plan: Plan,
    conversation: Conversation,
    turns: int,
    *,
    instructions: InstructionText | None = None,
    texts: Texts | None = None,
) -> Iterator[PreviewEvent]:
    """Every event of a conversation with that many answers, in the order in which a session meets it. Each
    answer is to a first attempt. `texts` are a model's, for operators that may have one write."""

    def event(place: str, one: Injection, message: int | None = None) -> PreviewEvent:
        tool = f"{place} {one.tool} ({one.tool_class})" if one.tool else place
        return PreviewEvent(one.decision, tool, one.before, one.after, one.note, message)

    if instructions is not None:
        _, shown = perturb_instructions(plan, instructions, {}, texts=texts)
        for one in shown.injections if shown is not None else ():
            yield event("instructions", one, instructions.ref.message)
    constraints = ToolConstraints(taken=conversation.taken)
    for one in perturb_tools(plan, conversation.tools, constraints, texts=texts).injections:
        yield event("tool", one)
    for new in perturb_messages(plan, conversation, {}, texts=texts).new:
        message = new.item.ref.message
        for one in new.injections:
            yield event(f"message {message}{',' if one.tool else ''}", one, message)
    yield from _preview_faults(plan, turns)


def _preview_faults(plan: Plan, turns: int) -> Iterator[PreviewEvent]:
    spent = met = 0
    memory: FaultMemory = {}
    for turn in range(turns):
        decided = decide_faults(
            plan, turn=turn, attempt=0, streaming=False, spent=spent, met=met, memory=memory
        )
        for decision, fault, note in decided:
            after = None if fault is None else json.dumps(fault.settings())
            met += after is not None
            yield PreviewEvent(decision, f"answer {turn}", "", after, note, answer=turn)
        spent += any(fault is not None and decision.fault for decision, fault, _ in decided)


@dataclass(frozen=True, slots=True)
class RecordedDialogue:
    """A conversation with the number of its answers; `name` keys its draws."""

    name: str
    conversation: Conversation
    turns: int


@dataclass(slots=True)
class OperatorTally:
    """One operator at one severity: sums over all sessions."""

    injected: int = 0
    withdrawn: int = 0
    sessions: int = 0
    """Sessions in which it injected anything."""
    reasons: Counter[str] = field(default_factory=Counter)
    """Why it was withdrawn."""


@dataclass(slots=True)
class Forecast:
    """The events of `sessions` sessions, conversations times seeds."""

    sessions: int = 0
    noisy: int = 0
    """Sessions with anything injected."""
    operators: dict[tuple[str, float], OperatorTally] = field(default_factory=dict)

    @property
    def injected(self) -> float:
        """Injections a session, on average."""
        return sum(one.injected for one in self.operators.values()) / max(1, self.sessions)

    def add_session(self, profile: Profile, dialogue: RecordedDialogue, seed: int, level: int | None) -> None:
        """Decide one session, and count its events."""
        plan = make_plan(profile, Seed(seed, dialogue.name), Assignment(NOISY, level=level))
        self.sessions += 1
        for rule in plan.rules:
            self.operators.setdefault((rule.operator, rule.severity), OperatorTally())
        acted = set()
        for one in preview(plan, dialogue.conversation, dialogue.turns):
            key = one.decision.operator, one.decision.severity
            if one.after is None:
                self.operators[key].withdrawn += 1
                self.operators[key].reasons[one.note] += 1
            else:
                self.operators[key].injected += 1
                acted.add(key)
        for key in acted:
            self.operators[key].sessions += 1
        self.noisy += bool(acted)


def forecast(
    profile: Profile, dialogues: Iterable[RecordedDialogue], seeds: Sequence[int], level: int | None = None
) -> Forecast:
    """What the profile does to the conversations under these seeds. ProfileError for an unknown level."""
    found = Forecast()
    for dialogue in dialogues:
        for seed in seeds:
            found.add_session(profile, dialogue, seed, level)
    return found


def tools_in(dialogues: Iterable[RecordedDialogue]) -> list[str]:
    """The tools that are declared or called in the conversations."""
    names: list[str] = []
    for one in dialogues:
        names += (tool.name for tool in one.conversation.tools)
        names += (item.call.name for item in one.conversation.items if isinstance(item, ToolResult))
    return list(dict.fromkeys(names))
