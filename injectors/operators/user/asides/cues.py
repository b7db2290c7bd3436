"""Preferences for a cheap or a fast way, which make a tempting tool name tempting.

RobustBench-TC has such a cue in the query. Ours are from the packs, on what the assistant costs or how long
it takes, never on what the user asks for.
"""

from __future__ import annotations

import re

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import Registered, register
from crosswind.injectors.operators.user.asides.asked import find_asked
from crosswind.injectors.operators.user.asides.draw import AsideDraw, apply_asides
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Recovery, Result, UserTarget
from crosswind.injectors.text.sentences import count_words, is_prose


class Cue:
    """A preference for how the task is done, which makes a tempting tool name tempting."""

    def __init__(self, operator: str, preference: str) -> None:
        self.operator, self.preference = operator, preference

    def draw(self, target: UserTarget, rng: SeededRandom, severity: float) -> Draw | None:
        present = rng.chance(severity)
        if not present or not is_prose(target.text) or _asks_nothing(target) or self._is_said(target.own):
            return None
        asides = AsideDraw(target, rng, self.operator)
        if asides.places.behind and (said := asides.draw_at("cue", "behind")) is not None:
            asides.put("behind", said)
        return asides.finish()

    def _is_said(self, own: str) -> bool:
        return self.preference == "speed" and _PRESSING.search(own) is not None

    def apply(self, target: UserTarget, draw: Draw) -> Result:
        if "asides" not in draw:
            return Result(target.text, "Nothing was added.")
        note = f"A preference for {self.preference} was added to the user's message."
        return Result(apply_asides(target.text, draw), note)


_PRESSING = re.compile(
    r"""(?ix)\b(?:asap|hurry|immediately|instantly|quickly|right[ ]away|rush|straight[ ]away|take[ ]your
    [ ]time|urgent(?:ly)?|whenever)\b|as[ ](?:soon|fast|quick(?:ly)?)[ ]as"""
)
"""An English message that says by itself how much haste there is."""
_QUESTION_MARKS = frozenset("?？؟")
_ANSWER = 12
"""Words of the longest later message that may be but an answer or thanks."""


def _asks_nothing(target: UserTarget) -> bool:
    """Whether a later message only answers or thanks: how that is done is no user's concern. What other
    languages ask for is told by a question mark alone."""
    own = target.own
    short = target.ordinal > 0 and count_words(own) <= _ANSWER
    return short and _QUESTION_MARKS.isdisjoint(own) and not find_asked(own)


def _register(name: str, way: str, implementation: Cue, profiles: str) -> None:
    documentation = (
        f"Appends a wish that the assistant do it in a {way} way: what makes a tempting tool name tempting."
        "\n\nSeverity: the share of messages that carry the cue. The message itself is kept, and the "
        "preference is about what the assistant uses, never about what was asked for; beside a distractor of "
        "`schema.*` the true tool is the one that serves it."
    )
    register(
        Registered(
            name,
            Site.USER_TEXT,
            Recovery.IGNORE,
            implementation,
            source=f"RobustBench-TC, appendix C: the cue in the query of {profiles}",
            documentation=documentation,
            version=6,
        )
    )


_register("user.cost_cue", "cheap", Cue("user.cost_cue", "low cost"), "MisDesc and MisDesc-N (CD, CD_NT)")
_register("user.speed_cue", "fast", Cue("user.speed_cue", "speed"), "TimeDesc and TimeDesc-N (TD, TD_NT)")
