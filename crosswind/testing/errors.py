"""Errors of a provider, and the checks by which it refuses a request as the real ones do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

ANTHROPIC_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


@dataclass(slots=True)
class ProviderError(Exception):
    """A request that the provider refuses, or a failure of its own."""

    status: int
    message: str
    param: str | None = None
    code: str | None = None
    kind: str = "invalid_request_error"

    def openai_body(self) -> dict[str, Any]:
        error = {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}
        return {"error": error}

    def anthropic_body(self) -> dict[str, Any]:
        kind = ANTHROPIC_KINDS.get(self.status, "api_error")
        error = {"type": kind, "message": self.message}
        return {"type": "error", "error": error, "request_id": "req_011CScripted"}


def refuse(condition: bool, message: str, param: str | None = None, code: str | None = None) -> None:
    """400 where the condition holds."""
    if condition:
        raise ProviderError(400, message, param, code)
