"""A user who would like it done fast."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.user.cue import draw_cue, with_cue
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Recovery, Result, UserTarget

WORDINGS = (
    "Please use the quickest way of doing this.",
    "Use the fastest available tool where you can.",
    "Please be quick, a fast option is best.",
    "I would like the method with the shortest response time for this.",
)
"""Preferences among ways to do the task, never among its results."""


@operator(
    "user.speed_cue",
    site=Site.USER_TEXT,
    recovery=Recovery.IGNORE,
    source="RobustBench-TC, appendix C: the cue in the query of TimeDesc and TimeDesc-N (TD, TD_NT)",
)
class SpeedCue:
    """Appends a preference for a fast way of doing the task: what makes a tempting tool name tempting.

    Severity: the share of messages that carry the cue. The message itself is kept, and the preference is
    about the tools used, so that the right tool is right all the same; beside a distractor of
    `schema.*` the true tool is the one that serves it.
    """

    def draw(self, target: UserTarget, rng: Stream, severity: float) -> Draw | None:
        return draw_cue(WORDINGS, target, rng, severity)

    def apply(self, target: UserTarget, draw: Draw) -> Result:
        return Result(with_cue(target, draw), "A preference for speed was added to the user's message.")
