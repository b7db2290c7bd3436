"""The scripted user: asks, gives what it withheld when asked for it, and leaves when it has its answer."""

from __future__ import annotations

import re

from crosswind.simulators.draws import Draws
from crosswind.simulators.retail.kinds import Goal, Kind

PATIENCE = 3
"""Questions that the user answers before giving up."""

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
        known = self._subject()
        return self._draws.choice(_GIVEN).format(known)

    def _subject(self) -> str:
        """What the wish is about, in the user's words: the first thing that it knows."""
        return next(iter(self._goal.values.values()))
