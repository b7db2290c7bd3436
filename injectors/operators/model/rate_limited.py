"""A provider that limits the rate."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, ModelTarget, Recovery, Result


@operator(
    "model.rate_limited",
    site=Site.MODEL_RESPONSE,
    recovery=Recovery.RETRY,
    source="beyond the papers; HTTP 429 with Retry-After, as providers of models answer it",
    fault=True,
)
class RateLimited:
    """The request is refused with status 429 and a Retry-After of one to three seconds.

    Severity: the probability that a request is refused so.
    """

    def draw(self, target: ModelTarget, rng: Stream, severity: float) -> Draw | None:
        refused, wait = rng.chance(severity), rng.integer(1, 3)
        return {"retry_after_s": wait} if refused else None

    def apply(self, target: ModelTarget, draw: Draw) -> Result:
        settings = {"where": "instead", "error": "rate_limited", "status": 429, **draw}
        note = f"The request was refused for its rate, to be sent again after {draw['retry_after_s']} s."
        return Result(settings, note)
