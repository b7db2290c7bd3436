"""What a search says while it runs, in lines for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crosswind.studies.evolve.fitness import Fitness


def fitness_told(fitness: Fitness) -> str:
    """A success with the dose that it took, a session."""
    dose = fitness.dose
    return (
        f"success {fitness.success:.1%} at {dose.injections:.2f} injections a session, severities "
        f"{dose.severity:.2f}, {dose.added:.0f} characters"
    )


def held_out_told(found: Mapping[str, Any]) -> str:
    """An agent's figures on the held-out tasks."""
    difference = found["difference"]
    low, high = (f"{100 * difference[name]:+.1f}" for name in ("low", "high"))
    hand_made, evolved = (Fitness.from_json(found[name]) for name in ("hand_made", "evolved"))
    return (
        f"calm {found['calm']:.1%}; hand-made: {fitness_told(hand_made)}; evolved: {fitness_told(evolved)}; "
        f"paired difference {100 * difference['difference']:+.1f} points, 95 % [{low}, {high}], "
        f"{difference['n']} tasks"
    )
