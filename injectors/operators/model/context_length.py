"""A prompt that is said to be too long."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, ModelTarget, Recovery, Result


@operator(
    "model.context_length",
    site=Site.MODEL_RESPONSE,
    recovery=Recovery.RETRY,
    source="beyond the papers; the error `context_length_exceeded` of OpenAI-compatible providers",
    fault=True,
)
class ContextLength:
    """The request is refused as longer than the model's context, with status 400.

    A client that shortens its history or sends it again gets its answer. Severity: the probability that a
    request is refused so.
    """

    def draw(self, target: ModelTarget, rng: Stream, severity: float) -> Draw | None:
        return {"status": 400, "code": "context_length_exceeded"} if rng.chance(severity) else None

    def apply(self, target: ModelTarget, draw: Draw) -> Result:
        settings = {"where": "instead", "error": "context_length", **draw}
        return Result(settings, "The request was refused as longer than the model's context.")
