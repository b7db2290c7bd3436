"""The task that the coding agents are given: two questions about a small checkout, the second one after the
history was compacted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from crosswind.testing import Answer, Call, Dialogue, MessageItem
from tests.clients.scripted import Declared, missing

SETTINGS = '     1\t"""Settings."""\n     2\tPORT = 8080\n     3\tHOST = "127.0.0.1"\n'
LIMITS = '     1\t"""Limits."""\n     2\tMAX_BODY = 65536\n     3\tMAX_HEADER = 8192\n'
LISTING = "README.md\nlimits.py\nserver.py\nsettings.py\n"
USES = "server.py:12:    listen(settings.HOST, settings.PORT)\n"

QUESTIONS = (
    "What is the default port in settings.py, and where is it used?",
    "Now look into limits.py: how large may a body be?",
)
ANSWERS = (
    "The default port is 8080; server.py uses it in line 12.",
    "A body may have 65536 bytes.",
)
SUMMARY = "The user asked about settings.py: the default port is 8080, used in server.py, line 12."
TITLE = "Default port"
COMPACTING = "compaction"
"""The word by which the policy knows that a summary is asked for."""

OUTPUTS = (
    ("settings.py", SETTINGS, ("PORT = 8080",)),
    ("limits.py", LIMITS, ("MAX_BODY = 65536",)),
    ("PORT", USES, ("server.py:12",)),
    ("ls", LISTING, ("limits.py", "server.py")),
)
"""What a call's arguments contain -> what it gives, and what has to be in it to be of use."""


def output(arguments: Any) -> str:
    """What the agent's tool gives. KeyError for a call that isn't of this task."""
    return _of(arguments)[1]


def facts(call: Call) -> Sequence[str]:
    return _of(call.arguments)[2]


def _of(arguments: Any) -> tuple[str, str, tuple[str, ...]]:
    given = json.dumps(arguments)
    for one in OUTPUTS:
        if one[0] in given:
            return one
    raise KeyError(given)


@dataclass(frozen=True, slots=True)
class CodingPolicy:
    """Answers the latest question; a side call without tools gets a title, or a summary where it asks so."""

    stages: tuple[tuple[tuple[Call, ...], ...], ...]
    """What has to be looked up, for each question."""
    declared: Declared

    def __call__(self, dialogue: Dialogue) -> Answer:
        asked = [
            item.text for item in dialogue.items if isinstance(item, MessageItem) and item.role == "user"
        ]
        if not dialogue.tools:
            return Answer(SUMMARY if COMPACTING in asked[-1].lower() else TITLE)
        question = 1 if any(re.search(r"limits\.py", text) for text in asked) else 0
        calls = missing(dialogue, self.stages[question], facts, self.declared)
        if calls:
            return Answer("I'll look.", calls, reasoning="The files say it best; I read them first.")
        return Answer(ANSWERS[question], reasoning="Everything that was asked for is known.")
