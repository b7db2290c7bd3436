"""Draws as they were, so that a stored trajectory means the same in every later version.

`python -m tests.injectors.golden` prints what the code draws now. Put it into golden.json only where a change
of draws is meant: it makes earlier runs unrepeatable from their seeds (never from their stored draws).
"""

from __future__ import annotations

import json
import sys
from typing import Any

from crosswind.injectors import registry
from crosswind.injectors.cli import examples
from crosswind.injectors.engine.curriculum import Curriculum, TypeState, assign
from crosswind.injectors.engine.messages import perturb_messages
from crosswind.injectors.engine.plan import NOISY, Assignment, Seed, make_plan
from crosswind.injectors.faults import Fault
from crosswind.injectors.operator import Registered
from crosswind.injectors.profiles.load import load
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import ToolChange
from tests.injectors.dialogues import TOOLS, conversation, order_desk


def operator_draws(entry: Registered) -> list[Any]:
    """Draw and payload of the operator on its sample, for a few streams and severities."""
    target = examples.sample_for(entry)
    out: list[Any] = []
    for severity in (0.3, 0.9):
        for seed in range(3):
            draw = entry.implementation.draw(target, SeededRandom(f"golden|{seed}"), severity)
            if draw is None:
                out.append(None)
            else:
                payload = entry.implementation.apply(target, draw).payload
                shown = examples.as_text(payload) if isinstance(payload, ToolChange) else payload
                out.append([draw, payload.settings() if isinstance(payload, Fault) else shown])
    return out


def plan_texts(noise_type: str) -> list[Any]:
    """What the policy sees of a conversation under `noisyagent` with this type, for a few seeds."""
    out: list[Any] = []
    for seed in range(3):
        plan = make_plan(
            load("noisyagent"),
            Seed(seed, "golden"),
            Assignment(NOISY, noise_type=noise_type),
        )
        found = perturb_messages(plan, conversation(order_desk(), TOOLS), {})
        out.append([[ref.message, text] for ref, text in found.replacements.items()])
    return out


def assignments() -> list[str]:
    """Who gets what in a few groups."""
    types = {"user.typos": TypeState(1, 0.2), "tool.timeout": TypeState(2, 0.3)}
    curriculum = Curriculum(1, "noisyagent", rho=0.5, types=types)
    found = []
    for group_id in ("a", "b"):
        for index in range(6):
            one = assign(curriculum, seed=7, group_id=group_id, rollout_index=index, group_size=6)
            found.append(f"{one.arm} {one.noise_type} {one.level}")
    return found


def current() -> dict[str, Any]:
    """All of it, for the operators that there are."""
    known = registry.operators()
    return {
        "operators": {name: operator_draws(known[name]) for name in sorted(known)},
        "noisyagent": {rule.operator: plan_texts(rule.operator) for rule in load("noisyagent").rules},
        "assignments": assignments(),
    }


if __name__ == "__main__":
    json.dump(current(), sys.stdout, indent=1, ensure_ascii=False)
