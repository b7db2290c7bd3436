"""Operators at work on a message or a result, under the guard, as a session would meet them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from crosswind.injectors import registry
from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.engine.messages import perturb_messages
from crosswind.injectors.engine.plan import Plan
from crosswind.injectors.guard import solvability
from crosswind.injectors.guard.shown_text import check_shown_text
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, ToolClass, ToolResultTarget, UserTarget
from crosswind.injectors.text.entities import find_protected_spans
from tests.injectors.dialogues import call, conversation
from tests.injectors.plans import plan_of

QUESTION = (
    "Hello, my flight leaves soon and I need to know exactly how many bags I'm allowed to take along with my "
    "booking. There is a lot that I have to carry, so I really need the right number. Can you look into that?"
)
"""An instruction like those of AgentNoiseBench's appendix B."""

BAGGAGE = {
    "reservation_id": "KX93TL",
    "origin": "OSL",
    "destination": "VIE",
    "cabin": "economy",
    "total_baggages": 1,
    "nonfree_baggages": 0,
}
"""A result like those of AgentNoiseBench's appendix B; the values are ours."""

BAGGAGE_TEXT = json.dumps(BAGGAGE, indent=2)
PASSAGE = "The observatory was opened in 1931. Its dome is 24.5 metres wide and seats 310 visitors."


def user_target(
    text: str, *, ordinal: int = 0, tools: Sequence[ToolSchema] = (), can_answer: bool = True
) -> UserTarget:
    """A message with the spans that must survive."""
    return UserTarget(text, ordinal, find_protected_spans(text, tools), tuple(tools), can_answer)


def result_target(text: str = BAGGAGE_TEXT, arguments: dict[str, Any] | None = None) -> ToolResultTarget:
    """A result of a tool that reads a reservation."""
    given = json.dumps({"reservation_id": "KX93TL"} if arguments is None else arguments)
    return ToolResultTarget(text, 0, "get_reservation", given, ToolClass.READ_ONLY)


def acts(
    name: str, target: UserTarget | ToolResultTarget, severity: float = 1.0, seeds: int = 40
) -> Iterator[tuple[Draw, str] | None]:
    """What the operator does to the target under each of so many seeds. The guard must let each pass."""
    entry = registry.resolve(name)
    for seed in range(seeds):
        draw = entry.implementation.draw(target, SeededRandom(f"{name}|{seed}"), severity)
        if draw is None:
            yield None
            continue
        after = str(entry.implementation.apply(target, json.loads(json.dumps(draw))).payload)
        if isinstance(target, UserTarget):
            assert solvability.check_user_text(entry, target, after, draw) is None
        else:
            assert solvability.check_tool_result(entry, target, after, clean=target.text) is None
        yield draw, after


def drawn(name: str, target: UserTarget, severity: float = 1.0, seeds: int = 40) -> list[tuple[Draw, str]]:
    """What becomes of a message where the operator acts. The guard of the shown text must pass each, too."""
    found = [one for one in acts(name, target, severity, seeds) if one is not None]
    for draw, after in found:
        refused = check_shown_text(target.own, target.tools, (), draw, target.text, after)
        assert refused is None, (after, refused)
    return found


def shown(
    name: str, target: UserTarget | ToolResultTarget, severity: float = 1.0, seeds: int = 40
) -> list[str]:
    """What an agent sees under each seed: the clean text where the operator does nothing."""
    return [target.text if one is None else one[1] for one in acts(name, target, severity, seeds)]


def outcomes(
    name: str, text: str = BAGGAGE_TEXT, severity: float = 1.0, seeds: int = 40, **options: Any
) -> list[str]:
    """What the operator makes of a result over many seeds, where it acts."""
    return [one[1] for one in acts(name, result_target(text, **options), severity, seeds) if one]


def seen(
    made: Plan, messages: Sequence[dict[str, Any]], tools: Sequence[Mapping[str, Any]] = ()
) -> list[str]:
    """The users' texts and the tools' results of a conversation, as an agent sees them."""
    new = perturb_messages(made, conversation(messages, tools), {}).new
    return [one.item.text if one.text is None else one.text for one in new]


def repeated(yaml_or_profile: str, text: str = BAGGAGE_TEXT, calls: int = 3, seed: int = 0) -> list[str]:
    """What an agent sees of one read that it makes again and again."""
    arguments = {"reservation_id": "KX93TL"}
    messages = [one for at in range(calls) for one in call("get_reservation", arguments, text, at)]
    return seen(plan_of(yaml_or_profile, seed), messages)


def rule(operator: str) -> str:
    """A profile with that operator alone, at full severity."""
    return f"name: t\nrules: [{{operator: {operator}, severity: 1.0}}]"
