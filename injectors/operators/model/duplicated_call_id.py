"""Calls that can't be told apart."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, ModelTarget, Recovery, Result


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
        return Result({"where": "after", **draw}, "All calls of the answer had the id of the first.")
