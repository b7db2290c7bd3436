"""The noise of a whole conversation, event by event, in the order in which a session meets it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from crosswind.injectors.conversation import Conversation, InstructionText
from crosswind.injectors.engine.decision import Decision
from crosswind.injectors.engine.faults import FaultMemory, decide_model, decide_transport
from crosswind.injectors.engine.messages import perturb_messages
from crosswind.injectors.engine.plan import Plan
from crosswind.injectors.engine.system_prompt import perturb_instructions
from crosswind.injectors.engine.tools import perturb_tools
from crosswind.injectors.guard.tools import ToolConstraints
from crosswind.injectors.targets import MODEL_LINK
from crosswind.injectors.wording import Texts


@dataclass(frozen=True, slots=True)
class Previewed:
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
) -> Iterator[Previewed]:
    """Every event of the conversation with that many answers, each of them to a first attempt. `texts` are a
    model's, for operators that may have one write."""
    if instructions is not None:
        _, new = perturb_instructions(plan, instructions, {}, texts=texts)
        for one in new.injections if new is not None else ():
            message = instructions.ref.message
            yield Previewed(one.decision, "instructions", one.before, one.after, one.note, message=message)
    constraints = ToolConstraints(taken=conversation.taken)
    for one in perturb_tools(plan, conversation.tools, constraints, texts=texts).injections:
        place = f"tool {one.tool} ({one.tool_class})"
        yield Previewed(one.decision, place, one.before, one.after, one.note)
    for new in perturb_messages(plan, conversation, {}, texts=texts).new:
        for one in new.injections:
            tool = f", {one.tool} ({one.tool_class})" if one.tool else ""
            message = new.item.ref.message
            place = f"message {message}{tool}"
            yield Previewed(one.decision, place, one.before, one.after, one.note, message=message)
    yield from _links(plan, turns)


def _links(plan: Plan, turns: int) -> Iterator[Previewed]:
    spent = met = 0
    memory: FaultMemory = {}
    for turn in range(turns):
        at: Any = {"turn": turn, "attempt": 0, "streaming": False, "spent": spent, "memory": memory}
        decided = decide_model(plan, met=met, **at)
        decided += decide_transport(plan, link=MODEL_LINK, met=met + len(decided), **at)
        for decision, fault, note in decided:
            after = None if fault is None else json.dumps(fault.settings())
            met += after is not None
            yield Previewed(decision, f"answer {turn}", "", after, note, answer=turn)
        spent += any(fault is not None and decision.fault for decision, fault, _ in decided)
