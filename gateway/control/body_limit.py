"""Refuse large bodies of requests to the control plane before anything reads them."""

from __future__ import annotations

from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from crosswind.gateway.control.errors import make_error_response
from crosswind.gateway.errors import ServiceError


class BodyLimit:
    """Reads each body, up to the limit in bytes, and answers 413 above it."""

    def __init__(self, app: ASGIApp, limit: Callable[[], int]) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        length = dict(scope["headers"]).get(b"content-length", b"0")
        limit = self._limit()
        messages = None if length.isdigit() and int(length) > limit else await _read_body(receive, limit)
        if messages is None:
            return await make_error_response(_too_large(limit))(scope, receive, send)
        messages.reverse()

        async def replay() -> Message:
            return messages.pop() if messages else await receive()

        await self._app(scope, replay, send)


async def _read_body(receive: Receive, limit: int) -> list[Message] | None:
    """The messages of a request's body; None if it is larger than the limit."""
    messages, size = list[Message](), 0
    while True:
        message = await receive()
        messages.append(message)
        size += len(message.get("body", b""))
        if size > limit:
            return None
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            return messages


def _too_large(limit: int) -> ServiceError:
    return ServiceError(
        413,
        f"the request's body is larger than {limit} bytes; send less, or raise limits.control_body",
        code="body_too_large",
        headers=[(b"connection", b"close")],
    )
