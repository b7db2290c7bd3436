"""An operator at work on a user's message, under the guard, as a session would meet it."""

from __future__ import annotations

from collections.abc import Sequence

from crosswind.injectors import registry
from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.guard import solvability
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import UserTarget
from crosswind.injectors.text.entities import protected_spans

BAGGAGE = (
    "Hello, my flight leaves soon and I need to know exactly how many bags I'm allowed to take along with my "
    "booking. There is a lot that I have to carry, so I really need the right number. Can you look into that?"
)
"""An instruction of the kind of which AgentNoiseBench's appendix B makes all of its user examples."""

RHYTHM = "Find the type of heart rhythm based on the ECG (Electrocardiogram) recording ID rec58213."
"""A query of the kind of RobustBench-TC's Typo and QueryPara examples (appendix C)."""

NOTE = 'The text is "Tea with the neighbours" and the place is "Garden Y".'
"""The last turn of a user as in RobustBench-TC's reward examples (appendix C)."""


def user_target(
    text: str, *, ordinal: int = 0, tools: Sequence[ToolSchema] = (), can_answer: bool = True
) -> UserTarget:
    """A message with the spans that must survive."""
    return UserTarget(text, ordinal, protected_spans(text, tools), tuple(tools), can_answer)


def shown(name: str, target: UserTarget, severity: float, seeds: int = 40) -> list[str]:
    """What an agent sees under each of so many seeds; the clean text where the operator does nothing. Fails
    where the guard would withdraw one."""
    entry = registry.resolve(name)
    out: list[str] = []
    for seed in range(seeds):
        draw = entry.implementation.draw(target, Stream(f"{name}|{seed}"), severity)
        after = target.text if draw is None else str(entry.implementation.apply(target, draw).payload)
        assert solvability.after_user(entry, target, after) is None
        out.append(after)
    return out
