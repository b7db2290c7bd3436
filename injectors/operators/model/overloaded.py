"""A provider with more to do than it can."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, ModelTarget, Recovery, Result


@operator(
    "model.overloaded",
    site=Site.MODEL_RESPONSE,
    recovery=Recovery.RETRY,
    source="beyond the papers; HTTP 503 and 529, as providers of models answer them",
    fault=True,
)
class Overloaded:
    """The request is refused because of too much load: status 503 (529 in some protocols).

    Severity: the probability that a request is refused so.
    """

    def draw(self, target: ModelTarget, rng: Stream, severity: float) -> Draw | None:
        return {"status": 503} if rng.chance(severity) else None

    def apply(self, target: ModelTarget, draw: Draw) -> Result:
        settings = {"where": "instead", "error": "overloaded", **draw}
        return Result(settings, "The request was refused because the provider was overloaded.")
