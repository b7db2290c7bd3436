"""One class per boundary: what the operator configured wrongly, and what we answer to a client."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

import msgspec
import orjson


class ConfigurationError(Exception):
    """The operator's configuration can't be used. The message is one line: field, value and mend."""


class ServiceError(Exception):
    """An answer of ours that isn't a success: what went wrong, as a status and a body in the protocol's
    shape.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = "invalid_request_error",
        code: str,
        param: str | None = None,
        headers: Iterable[tuple[bytes, bytes]] = (),
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.kind = kind
        self.code = code
        self.param = param
        self.headers = tuple(headers)

    def body(self) -> bytes:
        """The error in OpenAI's shape."""
        return openai_error(self.message, kind=self.kind, code=self.code, param=self.param)


class Attempt(msgspec.Struct, frozen=True, tag_field="kind", tag="attempt"):
    """A failed request to one replica of an upstream; it may have been retried."""

    replica: str
    outcome: str
    """The error's code, or `status_503` and the like."""
    took_us: int


class UpstreamError(ServiceError):
    """The upstream failed us before it gave an answer: unreachable, too slow, or it broke the connection.

    `unprocessed`: it is certain that the request was not processed, so that it may be sent again.
    """

    def __init__(self, status: int, message: str, code: str, *, unprocessed: bool = False) -> None:
        super().__init__(status, message, kind="upstream_error", code=code)
        self.unprocessed = unprocessed
        self.attempts: tuple[Attempt, ...] = ()
        """All attempts, this failure's own the last."""


def openai_error(message: str, *, kind: str, code: str | None, param: str | None = None) -> bytes:
    """OpenAI's error object, encoded."""
    return orjson.dumps({"error": {"message": message, "type": kind, "param": param, "code": code}})


def nearest(name: str, known: Iterable[str]) -> str:
    """A clause that names the nearest known name, or lists them all if none is near."""
    choices = sorted(known)
    close = difflib.get_close_matches(name, choices, n=1, cutoff=0.5)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known: {', '.join(choices)}" if choices else "none is known"
