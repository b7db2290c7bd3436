"""Requests that the provider of a model refuses, or answers with nothing."""

from __future__ import annotations

from functools import partial

from crosswind.injectors.conversation import Site
from crosswind.injectors.faults import BlankAnswer, ProviderRefusal
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.fault_by_chance import FaultByChance
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, ModelTarget, Recovery

_refusal = partial(operator, site=Site.MODEL_RESPONSE, recovery=Recovery.RETRY, effect=Effect.REPLACES)


@_refusal(
    "model.rate_limited",
    source="beyond the papers; HTTP 429 with Retry-After, as providers of models answer it",
)
class RateLimited(FaultByChance[ModelTarget]):
    """The request is refused with status 429 and a Retry-After of one to three seconds.

    Severity: the probability that a request is refused so.
    """

    note = "The request was refused for its rate, to be sent again after {retry_after_s} s."

    def choose(self, rng: SeededRandom) -> Draw:
        return {"retry_after_s": rng.integer(1, 3)}

    def make(self, draw: Draw) -> ProviderRefusal:
        return ProviderRefusal("rate_limited", 429, **draw)


@_refusal(
    "model.overloaded",
    source="beyond the papers; HTTP 503 and 529, as providers of models answer them",
)
class Overloaded(FaultByChance[ModelTarget]):
    """The request is refused because of too much load: status 503 (529 in some protocols).

    Severity: the probability that a request is refused so.
    """

    note = "The request was refused because the provider was overloaded."

    def choose(self, rng: SeededRandom) -> Draw:
        return {"status": 503}

    def make(self, draw: Draw) -> ProviderRefusal:
        return ProviderRefusal("overloaded", **draw)


@_refusal(
    "model.context_length",
    source="beyond the papers; the error `context_length_exceeded` of OpenAI-compatible providers",
)
class ContextLength(FaultByChance[ModelTarget]):
    """The request is refused as longer than the model's context, with status 400.

    A client that shortens its history or sends it again gets its answer. Severity: the probability that a
    request is refused so.
    """

    note = "The request was refused as longer than the model's context."

    def choose(self, rng: SeededRandom) -> Draw:
        return {"status": 400, "code": "context_length_exceeded"}

    def make(self, draw: Draw) -> ProviderRefusal:
        return ProviderRefusal("context_length", **draw)


class _Blank(FaultByChance[ModelTarget]):
    def make(self, draw: Draw) -> BlankAnswer:
        return BlankAnswer(**draw)


@_refusal(
    "model.empty",
    source="beyond the papers; empty completions, as users of agent frameworks report them",
)
class Empty(_Blank):
    """The answer ends as any other does, and has neither text nor a call.

    Severity: the probability that a request is answered so.
    """

    note = "The answer was empty."

    def choose(self, rng: SeededRandom) -> Draw:
        return {"answer": "empty"}


@_refusal(
    "model.content_filter",
    source="beyond the papers; the finish reason `content_filter`, or `refusal`, of providers of models",
)
class ContentFilter(_Blank):
    """The answer has no content and ends as one does that the provider's filter has stopped.

    Severity: the probability that a request is answered so.
    """

    note = "The answer was withheld as a content filter would."

    def choose(self, rng: SeededRandom) -> Draw:
        return {"answer": "content_filter"}
