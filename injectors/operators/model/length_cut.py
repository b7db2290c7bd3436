"""An answer that ends at the token limit."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.faults import AnswerEdit, ModelAnswer, Share
from crosswind.injectors.operator import operator
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, ModelTarget, Recovery, Result
from crosswind.injectors.text.graphemes import shorten


class LengthCutFault(AnswerEdit):
    """The text ends after this share of it, as at the token limit."""

    kind = "length_cut"
    keep: Share

    def edit(self, answer: ModelAnswer) -> ModelAnswer | None:
        if not answer.text:
            return None
        return ModelAnswer(shorten(answer.text, self.keep), (), cut_short=True)


@operator(
    "model.length_cut",
    site=Site.MODEL_RESPONSE,
    recovery=Recovery.RETRY,
    source="beyond the papers; the finish reason `length` of providers of models",
    fault=True,
)
class LengthCut:
    """The answer's text ends in its middle, with the finish reason of the token limit; its calls are lost.

    Severity: the probability that an answer is cut so. Between a fifth and four fifths of the text come. An
    answer without text is left alone.
    """

    def draw(self, target: ModelTarget, rng: Stream, severity: float) -> Draw | None:
        cut, keep = rng.chance(severity), rng.uniform(0.2, 0.8)
        return {"keep": round(keep, 3)} if cut else None

    def apply(self, target: ModelTarget, draw: Draw) -> Result:
        return Result(LengthCutFault(**draw), f"The answer ended after {draw['keep']:.0%} of its text.")
