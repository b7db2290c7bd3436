"""An operator at work on a user's message, under the guard, as a session would meet it."""

from __future__ import annotations

from collections.abc import Sequence

from injectors import registry, solvability
from injectors.conversation import ToolSchema
from injectors.entities import protected_spans
from injectors.operator import UserTarget
from injectors.streams import Stream

BAGGAGE = (
    "Hi, I have an upcoming flight and I need to know exactly how many suitcases I'm allowed to bring with "
    "my reservation. I have a lot to pack, so I really need the correct number. Can you help me with that?"
)
"""AgentNoiseBench, appendix B: the clean instruction of all its user examples."""

GENE = "Find the type of gene mutation based on SNP (Single Nucleotide Polymorphism) ID rs6034464."
"""RobustBench-TC, appendix C: the clean query of its Typo and QueryPara examples."""

AGENDA = 'The content is "Lunch with friends" and location is "Restaurant X".'
"""RobustBench-TC, appendix C: the last turn of the user in its reward examples."""


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
