"""How a protocol words the faults of a model's provider: refusals, blank answers, edited answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, NamedTuple

from crosswind.gateway.errors import ServiceError
from crosswind.gateway.protocols.request import Request
from crosswind.injectors.faults import AnswerEdit, ProviderRefusal
from crosswind.injectors.identity import digest


class Wording(NamedTuple):
    """A refusal as a provider gives it. `{wait}` in the message is its Retry-After."""

    status: int
    message: str
    code: str
    kind: str = "invalid_request_error"
    param: str | None = None


class ProviderErrors(ABC):
    """One protocol's words. Answers are its plain bodies, decoded."""

    refusals: Mapping[str, Wording]

    def word_refusal(self, refusal: ProviderRefusal) -> ServiceError:
        """The error for a refusal: in the provider's words for it, else in those of its HTTP status."""
        wording = self.refusals.get(refusal.error)
        if wording is None:
            wording = Wording(refusal.status, status_phrase(refusal.status), refusal.code or refusal.error)
        status, message, code, kind, param = wording
        wait = refusal.retry_after_s
        headers = [] if wait is None else [(b"retry-after", str(wait).encode())]
        return ServiceError(
            status, message.format(wait=wait), kind=kind, code=code, param=param, headers=headers
        )

    @abstractmethod
    def make_blank(self, request: Request, kind: str) -> dict[str, Any] | None:
        """An answer without content: `empty`, or stopped by a `content_filter`. None where the client might
        not be able to go on from it.
        """

    @abstractmethod
    def edit(self, answer: dict[str, Any], fault: AnswerEdit, request: Request) -> dict[str, Any] | None:
        """The edited answer; None where the fault doesn't apply. The one given may be changed."""

    @abstractmethod
    def write_stream(self, answer: dict[str, Any], request: Request) -> bytes:
        """The answer as a stream."""

    @abstractmethod
    def has_content(self, data: bytes) -> bool:
        """Whether an event with this data brings a piece of the answer's content."""


def openai_words(too_long: str, param: str) -> Mapping[str, Wording]:
    """The refusals of OpenAI's protocols; `param` is the member that holds the history."""
    limited = "Rate limit reached. Please try again in {wait}s."
    overloaded = "The server is currently overloaded. Please try again later."
    return {
        "rate_limited": Wording(429, limited, "rate_limit_exceeded", "rate_limit_error"),
        "overloaded": Wording(503, overloaded, "overloaded", "server_error"),
        "context_length": Wording(400, too_long, "context_length_exceeded", param=param),
    }


def status_phrase(status: int) -> str:
    """The standard phrase of an HTTP status."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"


def blank_id(request: Request, length: int) -> str:
    """The end of an id for an answer that noise makes up: the same for the same request."""
    return digest(request.split.body.decode("utf-8", "replace"))[:length]


def split_words(text: str) -> list[str]:
    """A text in the pieces in which engines stream it."""
    pieces = text.split(" ")
    return [*(f"{piece} " for piece in pieces[:-1]), pieces[-1]] if text else []
