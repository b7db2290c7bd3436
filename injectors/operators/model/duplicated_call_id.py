"""Tool calls that share one id."""

from __future__ import annotations

from dataclasses import replace

from crosswind.injectors.conversation import Site
from crosswind.injectors.faults import AnswerEdit, ModelAnswer
from crosswind.injectors.operator import operator
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, ModelTarget, Recovery, Result


class DuplicatedCallIdFault(AnswerEdit):
    """All calls have the first one's id."""

    kind = "duplicated_call_id"

    def edit(self, answer: ModelAnswer) -> ModelAnswer | None:
        if len(answer.calls) < 2:
            return None
        shared = answer.calls[0].call_id
        return replace(answer, calls=tuple(replace(call, call_id=shared) for call in answer.calls))


@operator(
    "model.duplicated_call_id",
    site=Site.MODEL_RESPONSE,
    recovery=Recovery.RETRY,
    source="beyond the papers; repeated tool-call ids, as some OpenAI-compatible servers give them",
    fault=True,
)
class DuplicatedCallId:
    """All calls of the answer have the id of the first.

    Severity: the probability that an answer is damaged so. An answer with fewer than two calls is left
    alone.
    """

    def draw(self, target: ModelTarget, rng: Stream, severity: float) -> Draw | None:
        return {"edit": "duplicated_call_id"} if rng.chance(severity) else None

    def apply(self, target: ModelTarget, draw: Draw) -> Result:
        return Result(DuplicatedCallIdFault(), "All calls of the answer had the id of the first.")
