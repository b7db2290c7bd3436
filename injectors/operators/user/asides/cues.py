"""Preferences for a cheap or a fast way, which make a tempting tool name tempting, with the paper's words."""

from __future__ import annotations

from collections.abc import Sequence

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import Registered, register
from crosswind.injectors.operators.user.asides.draw import write_like
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Recovery, Result, UserTarget
from crosswind.injectors.text.languages import Language, mark_unable
from crosswind.injectors.text.sentences import append_sentences, is_prose

COST_CUES = (
    "Please use a cost-effective way of doing this.",
    "Use the cheapest available tool where you can.",
    "If there's a low-cost tool for this, please go with that one.",
    "The most economical method you have will do.",
)

SPEED_CUES = (
    "Please use the quickest way of doing this.",
    "Use the fastest available tool where you can.",
    "If there's a fast tool for this, please go with that one.",
    "Please take whichever tool has the shortest response time.",
)
"""Preferences among ways to do the task, never among its results."""


class Cue:
    """A preference for a way of doing the task, which makes a tempting tool name tempting."""

    def __init__(self, preference: str, wordings: Sequence[str]) -> None:
        self.preference, self.wordings = preference, wordings

    def draw(self, target: UserTarget, rng: SeededRandom, severity: float) -> Draw | None:
        present, wording = rng.chance(severity), rng.choice(self.wordings)
        if not present or not is_prose(target.text):
            return None
        return mark_unable(target.own, {}) or {"cue": wording}

    def apply(self, target: UserTarget, draw: Draw) -> Result:
        if "cue" not in draw:
            return Result(target.text, "Nothing was added.")
        cue = write_like(draw["cue"], target.own, Language.EN)
        note = f"A preference for {self.preference} was added to the user's message."
        return Result(append_sentences(target.text, (cue,)), note)


def _register(name: str, way: str, implementation: Cue, profiles: str) -> None:
    documentation = (
        f"Appends a preference for a {way} way of doing the task: what makes a tempting tool name tempting."
        "\n\nSeverity: the share of messages that carry the cue. The message itself is kept, and the "
        "preference is about the tools used, so that the right tool stays right; beside a distractor of "
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
            version=2,
        )
    )


_register("user.cost_cue", "cheap", Cue("cost", COST_CUES), "MisDesc and MisDesc-N (CD, CD_NT)")
_register("user.speed_cue", "fast", Cue("speed", SPEED_CUES), "TimeDesc and TimeDesc-N (TD, TD_NT)")
