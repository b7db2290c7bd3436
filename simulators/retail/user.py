"""The user of a retail task: scripted, and as the scenario that a model is given which plays the customer."""

from __future__ import annotations

import re

from crosswind.simulators.draws import Draws
from crosswind.simulators.retail.kinds import Goal, Kind

PATIENCE = 3
"""Questions that the user answers before giving up."""

_ROLE = "You play a customer of a shop who writes to its assistant."
_FACTS = "What you know, and tell when you are asked for it:"
_GIVEN = ("It is {}.", "The id is {}.", "Sure, it is {}.", "My order is {}.")
_QUESTION = re.compile(r"\?|\b(?:please (?:give|tell|send)|need (?:the|your))\b", re.IGNORECASE)


class ScriptedUser:
    """One user with one wish. The seed decides the wording only."""

    def __init__(self, kind: Kind, goal: Goal, draws: Draws) -> None:
        self._goal = goal
        self._draws = draws
        self._asked = 0
        self.opening = draws.choice(kind.wordings).format(**goal.values)

    def reply(self, text: str) -> str | None:
        """The answer to a question; None where the text is an answer, or the user has lost patience."""
        if not _QUESTION.search(text) or self._asked >= PATIENCE:
            return None
        self._asked += 1
        subject = next(iter(self._goal.values.values()))
        return self._draws.choice(_GIVEN).format(subject)


def scenario(wish: str, goal: Goal) -> str:
    """The role, the wish in the user's own words, and what the user knows."""
    facts = "\n".join(f"- {name}: {value}" for name, value in goal.values.items())
    return f"{_ROLE}\nYour wish: {wish}\n{_FACTS}\n{facts}"
