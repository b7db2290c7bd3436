"""How the scripted policies go about a task: look up what is missing, again where a result is damaged."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from tests.clients.upstream import Call, Dialogue

MAX_TRIES = 8

Facts = Callable[[Call], Sequence[str]]
"""What the true result of a call says, piece by piece."""


class GaveUp(Exception):
    """A call was damaged again and again: the noise left the task without a way to do it."""


def missing(dialogue: Dialogue, stages: Sequence[Sequence[Call]], facts: Facts) -> tuple[Call, ...]:
    """The calls to make now: what the first stage that isn't complete lacks. Nothing where all is known."""
    for stage in stages:
        lacking = tuple(call for call in stage if not _known(dialogue, call, facts(call)))
        if lacking:
            return lacking if dialogue.parallel else lacking[:1]
    return ()


def _known(dialogue: Dialogue, call: Call, facts: Sequence[str]) -> bool:
    """Whether a call's result came, undamaged: every fact in it is the true one."""
    given = [
        result.text
        for asked, result in dialogue.results_of(call.name)
        if json.loads(asked.arguments) == call.arguments
    ]
    if len(given) > MAX_TRIES:
        raise GaveUp(f"{call} has no true result after {MAX_TRIES} tries: {given}")
    return any(all(fact in text for fact in facts) for text in given)
