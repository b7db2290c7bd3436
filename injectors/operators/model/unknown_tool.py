"""A call of a tool that nobody declared."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.faults import AnswerEdit, ModelAnswer, Share
from crosswind.injectors.operator import operator
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, ModelTarget, Recovery, Result

SUFFIXES = ("_v2", "_tool", "_function", "_call")
"""What models add to a name that they misremember."""


class UnknownToolFault(AnswerEdit):
    """The name of one call has this suffix. `pick` chooses the call."""

    kind = "unknown_tool"
    pick: Share
    suffix: str

    def edit(self, answer: ModelAnswer) -> ModelAnswer | None:
        if (call := answer.call_at(self.pick)) is None:
            return None
        return answer.with_call(call, name=call.name + self.suffix)


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
        return Result(UnknownToolFault(**draw), f"A tool call had the suffix {draw['suffix']} on its name.")
