"""A retail task as a model is told it that plays the customer."""

from __future__ import annotations

from crosswind.simulators.retail.kinds import Goal

_ROLE = "You play a customer of a shop who writes to its assistant."
_FACTS = "What you know, and tell when you are asked for it:"


def scenario(wish: str, goal: Goal) -> str:
    """The role, the wish in the user's own words, and what the user knows."""
    facts = "\n".join(f"- {name}: {value}" for name, value in goal.values.items())
    return f"{_ROLE}\nYour wish: {wish}\n{_FACTS}\n{facts}"
