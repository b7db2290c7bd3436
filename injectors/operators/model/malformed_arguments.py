"""A tool call with arguments that do not parse."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.faults import AnswerEdit, ModelAnswer, Share
from crosswind.injectors.operator import operator
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, ModelTarget, Recovery, Result
from crosswind.injectors.text.graphemes import shorten


class MalformedArgumentsFault(AnswerEdit):
    """The arguments of one call end after this share of them. `pick` chooses the call."""

    kind = "malformed_arguments"
    pick: Share
    keep: Share

    def edit(self, answer: ModelAnswer) -> ModelAnswer | None:
        if (call := answer.call_at(self.pick)) is None:
            return None
        return answer.with_call(call, arguments=shorten(call.arguments, self.keep))


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
        return Result(MalformedArgumentsFault(**draw), "The arguments of a tool call ended in their middle.")
