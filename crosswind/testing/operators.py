"""One operator on one target, without a gateway or a profile."""

from __future__ import annotations

from typing import Any

from crosswind.injectors.conversation import Site
from crosswind.injectors.registry import resolve
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Result, Target, ToolClass, ToolResultTarget, UserTarget


def apply_operator(
    name: str, target: Target | str, *, severity: float = 1.0, seed: str = "test", **options: Any
) -> Result | None:
    """What an operator makes of a target; None where it draws nothing. The same seed gives the same result.

    A text stands for a user's first message, or for the result of a tool that only reads, as the operator's
    site asks. Importing your module registers your operators.
    """
    operator = resolve(name)
    if isinstance(target, str):
        if operator.site not in (Site.USER_TEXT, Site.TOOL_RESULT):
            raise ValueError(f"target: {name} acts on {operator.site}; give one of the target classes")
        result = ToolResultTarget(target, 0, "get_record", "{}", ToolClass.READ_ONLY)
        target = UserTarget(target, 0) if operator.site is Site.USER_TEXT else result
    draw = operator.draw(options, target, SeededRandom(seed), severity)
    return None if draw is None else operator.apply(target, draw)
