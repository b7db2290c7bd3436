"""Answers without content."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.faults import BlankAnswer
from crosswind.injectors.operator import operator
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, ModelTarget, Recovery, Result


@operator(
    "model.empty",
    site=Site.MODEL_RESPONSE,
    recovery=Recovery.RETRY,
    source="beyond the papers; empty completions, as users of agent frameworks report them",
    fault=True,
)
class Empty:
    """The answer ends as any other does, and has neither text nor a call.

    Severity: the probability that a request is answered so.
    """

    def draw(self, target: ModelTarget, rng: SeededRandom, severity: float) -> Draw | None:
        return {"answer": "empty"} if rng.chance(severity) else None

    def apply(self, target: ModelTarget, draw: Draw) -> Result:
        return Result(BlankAnswer(**draw), "The answer was empty.")


@operator(
    "model.content_filter",
    site=Site.MODEL_RESPONSE,
    recovery=Recovery.RETRY,
    source="beyond the papers; the finish reason `content_filter`, or `refusal`, of providers of models",
    fault=True,
)
class ContentFilter:
    """The answer has no content and ends as one does that the provider's filter has stopped.

    Severity: the probability that a request is answered so.
    """

    def draw(self, target: ModelTarget, rng: SeededRandom, severity: float) -> Draw | None:
        return {"answer": "content_filter"} if rng.chance(severity) else None

    def apply(self, target: ModelTarget, draw: Draw) -> Result:
        return Result(BlankAnswer(**draw), "The answer was withheld as a content filter would.")
