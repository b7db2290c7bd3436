"""A write that says it succeeded, and did nothing."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, ToolClass, ToolResultTarget
from crosswind.injectors.text.languages import UNABLE

HAPPENED = "the call was carried out before its result came here, so that success is the truth"


@operator(
    "tool.silent_noop",
    site=Site.TOOL_RESULT,
    recovery=Recovery.RETRY,
    source="RobustBench-TC, appendix N (2), named there as future work",
    effect=Effect.REPLACES,
    version=2,
)
class SilentNoop:
    """A success that changed nothing. Where results pass on their way to the model, the call has been carried
    out, and this operator never acts: for each write that it would hit, an event says so.

    Severity: the probability that a write would do nothing.
    """

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        if not rng.chance(severity) or target.tool_class is ToolClass.READ_ONLY:
            return None
        return {UNABLE: HAPPENED}

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        return Result(target.text, f"The call of {target.tool} was carried out.")
