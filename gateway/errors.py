"""The gateway's errors: of its configuration, and those that it answers to clients."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

import msgspec
import orjson


class ConfigurationError(Exception):
    """The configuration can't be used. Each problem is one line: field, value and fix."""

    def __init__(self, *problems: str) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class ServiceError(Exception):
    """An error that the gateway answers: a status, and a body in the protocol's form."""

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
        """The error in OpenAI's form."""
        said = {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}
        return orjson.dumps({"error": said})


class UpstreamAttempt(msgspec.Struct, frozen=True, tag_field="kind", tag="attempt"):
    """A failed attempt at one replica; the request may have been retried."""

    replica: str
    outcome: str
    """The error's code, or `status_503` and the like."""
    took_us: int


class UpstreamError(ServiceError):
    """The upstream failed: unreachable, too slow, or it broke the connection.

    `unprocessed`: the request was certainly not processed, so it may be sent again.
    """

    def __init__(self, status: int, message: str, code: str, *, unprocessed: bool = False) -> None:
        super().__init__(status, message, kind="upstream_error", code=code)
        self.unprocessed = unprocessed
        self.attempts: tuple[UpstreamAttempt, ...] = ()
        """All failed attempts, this one last."""


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint that names the nearest known name, or lists all names if none is near."""
    choices = sorted(known)
    close = difflib.get_close_matches(name, choices, n=1, cutoff=0.5)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known: {', '.join(choices)}" if choices else "none is known"
