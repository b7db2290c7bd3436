"""The scripted provider as a server: its routes, and the connection of one request."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, ExitStack, suppress
from types import TracebackType
from typing import Any, Self

from anyio.from_thread import start_blocking_portal

from crosswind.loopback_server import listen, make_server, run_server
from crosswind.testing import chat, messages, responses, small_routes
from crosswind.testing.dialogue import Step
from crosswind.testing.errors import ProviderError
from crosswind.testing.replies import CUT, JSON, SSE, ReceivedRequest, Reply, RouteResponse, encode
from crosswind.testing.state import ProviderState

Handler = Callable[[ProviderState, ReceivedRequest, re.Match[str]], Awaitable[RouteResponse]]

ROUTES: tuple[tuple[str, re.Pattern[str], Handler], ...] = tuple(
    (method, re.compile(rf"/v1{path}(?:\?.*)?\Z"), handler)
    for method, path, handler in (
        ("POST", r"/chat/completions", chat.create),
        ("POST", r"/completions", small_routes.create_completion),
        ("POST", r"/embeddings", small_routes.create_embeddings),
        ("POST", r"/messages", messages.create),
        ("POST", r"/messages/count_tokens", messages.count_tokens),
        ("POST", r"/responses", responses.create),
        ("GET", r"/responses/(\w+)", small_routes.retrieve_response),
        ("DELETE", r"/responses/(\w+)", small_routes.delete_response),
        ("GET", r"/responses/(\w+)/input_items", small_routes.list_input_items),
        ("GET", r"/models", small_routes.list_models),
        ("GET", r"/models/([^/?]+)", small_routes.show_model),
    )
)


class ScriptedProvider(ProviderState):
    """A provider that takes one step of its script after the other, the last one again and again.

    `async with` serves it on the running loop, `with` in a thread of its own. While it serves, `url` is its
    root and `base_url` what an OpenAI SDK is given.
    """

    def __init__(
        self,
        *steps: Step,
        strict: bool = True,
        keep: bool = True,
        interleaved: bool = False,
        names_in_two: bool = False,
        port: int = 0,
    ) -> None:
        super().__init__(*steps, strict=strict, keep=keep, interleaved=interleaved, names_in_two=names_in_two)
        self.url = ""
        self._port = port
        self._serving = AsyncExitStack()

    @property
    def base_url(self) -> str:
        return f"{self.url}/v1"

    async def __aenter__(self) -> Self:
        serving = run_server(make_server(self), listen(self._port))
        self.url = await self._serving.enter_async_context(serving)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._serving.aclose()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            portal = stack.enter_context(start_blocking_portal())
            stack.enter_context(portal.wrap_async_context_manager(self))
            self._thread = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.close()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """The provider as an ASGI application."""
        request = await _receive_request(scope, receive)
        self._count += 1
        if self.keep:
            self.requests.append(request)
        answering = asyncio.create_task(self._answer(request, send))
        leaving = asyncio.create_task(receive())
        await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            answering.cancel()
            self.client_left.set()
        leaving.cancel()
        with suppress(asyncio.CancelledError):
            await answering

    async def _answer(self, request: ReceivedRequest, send: Any) -> None:
        if _writes_bytes(self.steps[0]):
            await _send_reply(self._next_step(), request, send)  # type: ignore[arg-type]
            return
        response = await self._respond(request)
        chunks = (encode(response.body),) if response.events is None else response.events
        name = b"request-id" if _is_anthropic(request) else b"x-request-id"
        headers = [SSE if response.events else JSON, (name, self.new_id("req_").encode())]
        if isinstance(chunks, tuple):
            headers.append((b"content-length", str(len(chunks[0])).encode()))
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        for chunk in chunks:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await asyncio.sleep(0)  # `send` may not wait: only here it is noticed that a client left.
        await send({"type": "http.response.body", "body": b""})

    async def _respond(self, request: ReceivedRequest) -> RouteResponse:
        try:
            for method, path, handler in ROUTES:
                if method == request.method and (found := path.match(request.path)):
                    if self.strict:
                        _check_key(request)
                    return await handler(self, request, found)
            raise ProviderError(404, f"Invalid URL ({request.method} {request.path})")
        except ProviderError as error:
            self.refusals.append(f"{error.status} {error.message}")
            body = error.anthropic_body() if _is_anthropic(request) else error.openai_body()
            return RouteResponse(body, status=error.status)


def _writes_bytes(step: Step) -> bool:
    """Whether a step is a `Reply`: an async generator function, or an object that is called as one."""
    return inspect.isasyncgenfunction(step) or inspect.isasyncgenfunction(type(step).__call__)


async def _receive_request(scope: Any, receive: Any) -> ReceivedRequest:
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    query = scope["query_string"].decode()
    path = scope["raw_path"].decode() + ("?" + query if query else "")
    headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
    return ReceivedRequest(scope["method"], path, headers, body)


async def _send_reply(reply: Reply, request: ReceivedRequest, send: Any) -> None:
    async for part in reply(request):
        if isinstance(part, tuple):
            await send({"type": "http.response.start", "status": part[0], "headers": part[1]})
        elif part == CUT:
            return
        else:
            await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def _is_anthropic(request: ReceivedRequest) -> bool:
    return "anthropic-version" in request.headers or request.path.startswith("/v1/messages")


def _check_key(request: ReceivedRequest) -> None:
    bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
    if not (request.headers.get("x-api-key") or bearer):
        raise ProviderError(401, "You didn't provide an API key.", kind="authentication_error")
    if _is_anthropic(request) and "anthropic-version" not in request.headers:
        raise ProviderError(400, "anthropic-version: header is required")
