"""Answers that a provider out of sorts gives: how a protocol words them, plain and as a stream."""

from __future__ import annotations

from typing import Any, Protocol

from crosswind.gateway.errors import ServiceError
from crosswind.gateway.protocols.faults import Fault
from crosswind.gateway.protocols.request import Request
from crosswind.injectors.text.graphemes import whole


class AnswerForms(Protocol):
    """One protocol's forms. Answers are its plain bodies, decoded."""

    def refusal(self, fault: Fault) -> ServiceError:
        """What a provider says in an answer's place: rate limited, overloaded, prompt too long."""
        ...

    def blank(self, request: Request, kind: str) -> dict[str, Any] | None:
        """An answer without content: `empty`, or withheld by a `content_filter`. None where its client might
        not be able to go on from it.
        """
        ...

    def edited(self, answer: dict[str, Any], fault: Fault, request: Request) -> dict[str, Any] | None:
        """The answer as the fault leaves it; None where it doesn't apply. The one given may be changed."""
        ...

    def events(self, answer: dict[str, Any], request: Request) -> bytes:
        """The answer as a stream."""
        ...

    def has_content(self, data: bytes) -> bool:
        """Whether a stream's event, by its data, brings a piece of the answer's content."""
        ...


def refusal(fault: Fault, *, too_long: str, param: str) -> ServiceError:
    """The error of a provider of OpenAI's protocols; `too_long` is the protocol's word for that, `param` the
    member that holds the history.
    """
    match fault.settings["error"]:
        case "rate_limited":
            wait = fault.settings["retry_after_s"]
            return ServiceError(
                429,
                f"Rate limit reached. Please try again in {wait}s.",
                kind="rate_limit_error",
                code="rate_limit_exceeded",
                headers=[(b"retry-after", str(wait).encode())],
            )
        case "context_length":
            return ServiceError(400, too_long, code="context_length_exceeded", param=param)
        case _:
            return ServiceError(
                503,
                "The server is currently overloaded. Please try again later.",
                kind="server_error",
                code="overloaded",
            )


def shortened(text: str, keep: float) -> str:
    """The beginning of a text, by the share of it that stays."""
    return text[: whole(text, int(len(text) * keep))]


def picked(count: int, fault: Fault) -> int:
    """Which of so many calls the fault is about."""
    return min(int(fault.number("pick") * count), count - 1)
