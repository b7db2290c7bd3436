"""ASGI middleware of vLLM's server: the routes under /policy, and which version sampled which tokens.

The routes are those of the embedded engine, so that one client publishes to both.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

from .answers import AnswerSpans, add_versions, current
from .engine import EngineFailed, PolicyEngine, RequestRefused

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_SAMPLED = ("/v1/chat/completions", "/v1/completions")


class PolicyMiddleware:
    """Named to vLLM by `--middleware`; outermost, so that it sees every request."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._engine: PolicyEngine | None = None
        self._starting = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        engine = await self._attach(scope)
        route = (scope["method"], scope["path"])
        if scope["path"].startswith("/policy"):
            status, body = await self._control(engine, route, scope, receive)
            await JSONResponse(body, status)(scope, receive, send)
        elif route[0] == "POST" and route[1] in _SAMPLED:
            answer = AnswerSpans()
            token = current.set(answer)
            try:
                await self._app(scope, receive, add_versions(answer, send))
            finally:
                current.reset(token)
        else:
            await self._app(scope, receive, send)

    async def _attach(self, scope: Scope) -> PolicyEngine:
        async with self._starting:
            if self._engine is None:
                self._engine = await PolicyEngine.attach(scope["app"].state.engine_client)
            return self._engine

    async def _control(
        self, engine: PolicyEngine, route: tuple[str, str], scope: Scope, receive: Receive
    ) -> tuple[int, dict[str, Any]]:
        try:
            match route:
                case ("GET", "/policy"):
                    return 200, engine.status()
                case ("POST", "/policy/publish"):
                    return 200, await engine.publish(await _read_body(scope, receive))
                case ("POST", "/policy/score"):
                    return 200, await engine.score(await _read_body(scope, receive))
                case _:
                    return 404, _error(f"no route {route[0]} {route[1]}", "not_found")
        except RequestRefused as error:
            return error.status, _error(str(error), error.code)
        except EngineFailed as error:
            return 500, _error(str(error), "engine_failure")


def _error(message: str, code: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}


async def _read_body(scope: Scope, receive: Receive) -> dict[str, Any]:
    try:
        body = json.loads(await Request(scope, receive).body())
    except ValueError as error:
        raise RequestRefused(f"the body isn't JSON: {error}") from None
    if not isinstance(body, dict):
        raise RequestRefused("the body must be a JSON object")
    return body
