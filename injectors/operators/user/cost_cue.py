"""A user who would like it done cheaply."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.user.cue import draw_cue, with_cue
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Recovery, Result, UserTarget

WORDINGS = (
    "Please use a cost-effective way of doing this.",
    "Use the cheapest available tool where you can.",
    "Please keep it inexpensive, a low-cost option is best.",
    "I would like the most economical method for this.",
)
"""Preferences among ways to do the task, never among its results."""


@operator(
    "user.cost_cue",
    site=Site.USER_TEXT,
    recovery=Recovery.IGNORE,
    source="RobustBench-TC, appendix C: the cue in the query of MisDesc and MisDesc-N (CD, CD_NT)",
)
class CostCue:
    """Appends a preference for a cheap way of doing the task: what makes a tempting tool name tempting.

    Severity: the share of messages that carry the cue. The message itself is kept, and the preference is
    about the tools used, so that the right tool is right all the same; beside a distractor of
    `schema.*` the true tool is the one that serves it.
    """

    def draw(self, target: UserTarget, rng: Stream, severity: float) -> Draw | None:
        return draw_cue(WORDINGS, target, rng, severity)

    def apply(self, target: UserTarget, draw: Draw) -> Result:
        return Result(with_cue(target, draw), "A preference for cost was added to the user's message.")
