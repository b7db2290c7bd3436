"""A tool call whose arguments are no JSON."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, ModelTarget, Recovery, Result


@operator(
    "model.malformed_arguments",
    site=Site.MODEL_RESPONSE,
    recovery=Recovery.RETRY,
    source="beyond the papers; calls that don't parse, as users of agent frameworks report them",
    fault=True,
)
class MalformedArguments:
    """The arguments of one of the answer's calls end in their middle.

    Severity: the probability that an answer is damaged so. Between a fifth and nine tenths of the arguments
    come; an answer without a call is left alone.
    """

    def draw(self, target: ModelTarget, rng: Stream, severity: float) -> Draw | None:
        damaged, pick, keep = rng.chance(severity), rng.uniform(), rng.uniform(0.2, 0.9)
        return {"pick": round(pick, 3), "keep": round(keep, 3)} if damaged else None

    def apply(self, target: ModelTarget, draw: Draw) -> Result:
        settings = {"where": "after", "edit": "malformed_arguments", **draw}
        return Result(settings, "The arguments of a tool call ended in their middle.")
