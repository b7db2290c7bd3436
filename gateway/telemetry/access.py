"""The access log (`log.access`): one event for each request, without bodies, paths' values or credentials."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import structlog

_log = structlog.get_logger("crosswind.access")

Message = MutableMapping[str, Any]
Application = Callable[[Message, Any, Any], Awaitable[None]]


def log_request(plane: str, method: str, route: str, status: str, started: float) -> None:
    """Log one. `route` is a name or a pattern, as a path may hold a key; `started`: of time.monotonic."""
    took_ms = round(1000 * (time.monotonic() - started), 1)
    _log.info("request", plane=plane, method=method, route=route, status=status, ms=took_ms)


class ControlAccessLog:
    """The control plane, with an event for each request while `enabled` says so."""

    def __init__(self, app: Application, enabled: Callable[[], bool]) -> None:
        self._app = app
        self._enabled = enabled

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or not self._enabled():
            return await self._app(scope, receive, send)
        status, started = "gone", time.monotonic()

        async def send_and_note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
            await send(message)

        try:
            await self._app(scope, receive, send_and_note)
        finally:
            route = getattr(scope.get("route"), "path", "none")
            log_request("control", scope["method"], route, status, started)
