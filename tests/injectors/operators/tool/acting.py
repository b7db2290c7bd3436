"""Operators at work on one result, and on a call that is made again."""

from __future__ import annotations

import json
from typing import Any

from crosswind.injectors import registry
from crosswind.injectors.cli.documents import conversation
from crosswind.injectors.engine.decide import NewlyShown, perturb
from crosswind.injectors.engine.plan import Seed, make_plan
from crosswind.injectors.guard import solvability
from crosswind.injectors.profiles.load import load, parse
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import ToolClass, ToolResultTarget
from tests.injectors.dialogues import call

BAGGAGE = {
    "reservation_id": "KX93TL",
    "origin": "OSL",
    "destination": "VIE",
    "cabin": "economy",
    "total_baggages": 1,
    "nonfree_baggages": 0,
}
"""A result of the kind that AgentNoiseBench's appendix B shows; the values are ours."""

BAGGAGE_TEXT = json.dumps(BAGGAGE, indent=2)
PASSAGE = "The observatory was opened in 1931. Its dome is 24.5 metres wide and seats 310 visitors."


def target(text: str = BAGGAGE_TEXT, arguments: dict[str, Any] | None = None) -> ToolResultTarget:
    """A result of a tool that reads a reservation."""
    given = json.dumps({"reservation_id": "KX93TL"} if arguments is None else arguments)
    return ToolResultTarget(text, 0, "get_reservation", given, ToolClass.READ_ONLY)


def outcomes(
    name: str, text: str = BAGGAGE_TEXT, severity: float = 1.0, seeds: int = 40, **options: Any
) -> list[str]:
    """What the operator makes of the result over many seeds, where it acts; the guard must let each pass."""
    entry, on, found = registry.resolve(name), target(text, **options), []
    for seed in range(seeds):
        draw = entry.implementation.draw(on, Stream(f"{name}|{seed}"), severity)
        if draw is not None:
            after = str(entry.implementation.apply(on, draw).payload)
            assert solvability.after_tool(entry, on, after, clean=text) is None
            found.append(after)
    return found


def repeated(yaml_or_profile: str, text: str = BAGGAGE_TEXT, calls: int = 3, seed: int = 0) -> list[str]:
    """What an agent sees of one read that it makes again and again."""
    known = parse(yaml_or_profile, "t") if "\n" in yaml_or_profile else load(yaml_or_profile)
    plan = make_plan(known, Seed(seed, "s"))
    messages = [
        message
        for number in range(calls)
        for message in call("get_reservation", {"reservation_id": "KX93TL"}, text, number)
    ]
    new: list[NewlyShown] = perturb(plan, conversation(messages), {}).new
    return [one.item.text if one.text is None else one.text for one in new]


def rule(operator: str, severity: float = 1.0) -> str:
    """A profile with that operator alone."""
    return f"name: t\nrules: [{{operator: {operator}, severity: {severity}}}]"
