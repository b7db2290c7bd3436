"""Requests that the provider of a model refuses, or answers with nothing."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.faults import BlankAnswer, ProviderRefusal
from crosswind.injectors.operator import operator
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, ModelTarget, Recovery, Result


@operator(
    "model.rate_limited",
    site=Site.MODEL_RESPONSE,
    recovery=Recovery.RETRY,
    source="beyond the papers; HTTP 429 with Retry-After, as providers of models answer it",
    effect=Effect.REPLACES,
)
class RateLimited:
    """The request is refused with status 429 and a Retry-After of one to three seconds.

    Severity: the probability that a request is refused so.
    """

    def draw(self, target: ModelTarget, rng: SeededRandom, severity: float) -> Draw | None:
        refused, wait = rng.chance(severity), rng.integer(1, 3)
        return {"retry_after_s": wait} if refused else None

    def apply(self, target: ModelTarget, draw: Draw) -> Result:
        note = f"The request was refused for its rate, to be sent again after {draw['retry_after_s']} s."
        return Result(ProviderRefusal("rate_limited", 429, **draw), note)


@operator(
    "model.overloaded",
    site=Site.MODEL_RESPONSE,
    recovery=Recovery.RETRY,
    source="beyond the papers; HTTP 503 and 529, as providers of models answer them",
    effect=Effect.REPLACES,
)
class Overloaded:
    """The request is refused because of too much load: status 503 (529 in some protocols).

    Severity: the probability that a request is refused so.
    """

    def draw(self, target: ModelTarget, rng: SeededRandom, severity: float) -> Draw | None:
        return {"status": 503} if rng.chance(severity) else None

    def apply(self, target: ModelTarget, draw: Draw) -> Result:
        note = "The request was refused because the provider was overloaded."
        return Result(ProviderRefusal("overloaded", **draw), note)


@operator(
    "model.context_length",
    site=Site.MODEL_RESPONSE,
    recovery=Recovery.RETRY,
    source="beyond the papers; the error `context_length_exceeded` of OpenAI-compatible providers",
    effect=Effect.REPLACES,
)
class ContextLength:
    """The request is refused as longer than the model's context, with status 400.

    A client that shortens its history or sends it again gets its answer. Severity: the probability that a
    request is refused so.
    """

    def draw(self, target: ModelTarget, rng: SeededRandom, severity: float) -> Draw | None:
        return {"status": 400, "code": "context_length_exceeded"} if rng.chance(severity) else None

    def apply(self, target: ModelTarget, draw: Draw) -> Result:
        note = "The request was refused as longer than the model's context."
        return Result(ProviderRefusal("context_length", **draw), note)


@operator(
    "model.empty",
    site=Site.MODEL_RESPONSE,
    recovery=Recovery.RETRY,
    source="beyond the papers; empty completions, as users of agent frameworks report them",
    effect=Effect.REPLACES,
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
    effect=Effect.REPLACES,
)
class ContentFilter:
    """The answer has no content and ends as one does that the provider's filter has stopped.

    Severity: the probability that a request is answered so.
    """

    def draw(self, target: ModelTarget, rng: SeededRandom, severity: float) -> Draw | None:
        return {"answer": "content_filter"} if rng.chance(severity) else None

    def apply(self, target: ModelTarget, draw: Draw) -> Result:
        return Result(BlankAnswer(**draw), "The answer was withheld as a content filter would.")
