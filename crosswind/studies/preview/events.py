"""Decide the noise of a whole conversation as a gateway would."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from crosswind.injectors.engine.decision import Decision, Injection
from crosswind.injectors.engine.faults import FaultMemory, decide_faults
from crosswind.injectors.engine.messages import perturb_instructions, perturb_messages
from crosswind.injectors.engine.plan import Plan
from crosswind.injectors.engine.tools import perturb_tools
from crosswind.injectors.targets import Withheld
from crosswind.injectors.wording import Texts
from crosswind.studies.conversations import RecordedConversation


@dataclass(frozen=True, slots=True)
class PreviewEvent:
    """One event. `after` is None where it was withheld; `before` is empty where there was no text."""

    decision: Decision
    place: str
    before: str
    after: str | None
    note: str
    message: int | None = None
    """The message that it is about; None: the tools, a system prompt that isn't a message, or an answer."""
    answer: int | None = None
    """The answer that it is about, from 0."""
    tool: str | None = None
    tool_class: str | None = None
    withheld: Withheld | None = None
    """Why noise on a tool or a text was withheld."""


def preview_events(
    plan: Plan, recorded: RecordedConversation, *, texts: Texts | None = None
) -> Iterator[PreviewEvent]:
    """Every event of a conversation, in the order in which a session meets it. Each answer is to a first
    attempt. `texts` are a model's, for operators that may have one write."""

    def event(place: str, one: Injection, message: int | None = None) -> PreviewEvent:
        tool = f"{place} {one.tool} ({one.tool_class})" if one.tool else place
        facts = one.decision, tool, one.before, one.after, one.note, message
        return PreviewEvent(*facts, tool=one.tool, tool_class=one.tool_class, withheld=one.withheld)

    prompt, conversation = recorded.instructions, recorded.conversation
    if prompt is not None:
        _, shown = perturb_instructions(plan, prompt, {}, texts=texts)
        for one in shown.injections if shown is not None else ():
            yield event("instructions", one, prompt.ref.message if prompt.ref.message >= 0 else None)
    for one in perturb_tools(plan, conversation.tools, recorded.constraints, texts=texts).injections:
        yield event("tool", one)
    for new in perturb_messages(plan, conversation, {}, texts=texts).new:
        message = new.item.ref.message
        for one in new.injections:
            yield event(f"message {message}{',' if one.tool else ''}", one, message)
    yield from _preview_faults(plan, recorded.turns)


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
