"""A call of a tool that nobody declared."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, ModelTarget, Recovery, Result

SUFFIXES = ("_v2", "_tool", "_function", "_call")
"""What models add to a name that they misremember."""


@operator(
    "model.unknown_tool",
    site=Site.MODEL_RESPONSE,
    recovery=Recovery.RETRY,
    source="beyond the papers; calls of tools that don't exist, as users of agent frameworks report them",
    fault=True,
)
class UnknownTool:
    """One of the answer's calls names a tool that isn't there: its name has a suffix too many.

    Severity: the probability that an answer is damaged so. An answer without a call is left alone.
    """

    def draw(self, target: ModelTarget, rng: Stream, severity: float) -> Draw | None:
        damaged, pick, suffix = rng.chance(severity), rng.uniform(), rng.choice(SUFFIXES)
        return {"pick": round(pick, 3), "suffix": suffix} if damaged else None

    def apply(self, target: ModelTarget, draw: Draw) -> Result:
        settings = {"where": "after", "edit": "unknown_tool", **draw}
        return Result(settings, f"A tool call had the suffix {draw['suffix']} on its name.")
