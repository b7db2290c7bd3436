"""The engine as a plain ASGI application: an OpenAI-compatible data plane and the /policy routes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, MutableMapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

import orjson

from crosswind.policies.embedded.batch import BatchLimits, DecodeBatch
from crosswind.policies.embedded.chat import ChatFormat
from crosswind.policies.embedded.checkpoint import read_checkpoint
from crosswind.policies.embedded.completions import CompletionAnswer, Completions
from crosswind.policies.embedded.control import Control
from crosswind.policies.embedded.request import RequestError, read_request
from crosswind.policies.embedded.worker import EngineFailure, Worker

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class EngineApp:
    """Serves one policy. The worker's thread lives from ASGI's start-up to its shutdown."""

    def __init__(self, directory: Path, *, seed: int, default_tokens: int, limits: BatchLimits) -> None:
        self._directory = directory
        self._seed = seed
        self._default_tokens = default_tokens
        self._limits = limits
        self._checkpoint = read_checkpoint(directory)
        self._chat = ChatFormat(self._checkpoint.version.home)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            await self._serve(scope, receive, send)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        self._completions = Completions(self._chat, seed=self._seed, default_tokens=self._default_tokens)
        batch = DecodeBatch(self._checkpoint, self._limits)
        self._worker = Worker(batch, self._completions.report_progress, self._completions.report_failure)
        self._control = Control(self._worker, self._directory)
        self._worker.start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self._worker.stop()
        await send({"type": "lifespan.shutdown.complete"})

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = (scope["method"], scope["path"])
        try:
            match route:
                case ("POST", "/v1/chat/completions"):
                    await self._complete(await _body(receive), receive, send)
                case ("GET", "/v1/models"):
                    await _answer(send, 200, self._models())
                case ("GET", "/health"):
                    await _answer(send, 200, {"status": "ok"})
                case ("GET", "/policy"):
                    await _answer(send, 200, self._control.status())
                case ("POST", "/policy/publish"):
                    await _answer(send, 200, await self._control.publish(await _body(receive)))
                case ("POST", "/policy/score"):
                    await _answer(send, 200, await self._control.score(await _body(receive)))
                case _:
                    raise RequestError(f"no route {route[0]} {route[1]}", None, "not_found", 404)
        except RequestError as error:
            await _answer(send, error.status, error_object(error))
        except EngineFailure as error:
            await _answer(send, 500, error_object(error))

    async def _complete(self, body: Any, receive: Receive, send: Send) -> None:
        request = read_request(body)
        answer = self._completions.start(request, self._worker)
        if request.stream:
            await _while_connected(receive, _stream(send, answer.chunks()))
        else:
            await _while_connected(receive, self._answer_whole(send, answer))

    async def _answer_whole(self, send: Send, answer: CompletionAnswer) -> None:
        await _answer(send, 200, await answer.whole())

    def _models(self) -> dict[str, Any]:
        model = {"id": "policy", "object": "model", "created": 0, "owned_by": "crosswind"}
        return {"object": "list", "data": [model | {"version": self._worker.version.version}]}


def error_object(error: Exception) -> dict[str, Any]:
    """OpenAI's error object."""
    if isinstance(error, RequestError):
        kind, param, code = "invalid_request_error", error.param, error.code
    else:
        kind, param, code = "server_error", None, "engine_failure"
    return {"error": {"message": str(error), "type": kind, "param": param, "code": code}}


async def _body(receive: Receive) -> Any:
    pieces = []
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise RequestError("the client went away before its request was complete")
        pieces.append(event.get("body", b""))
        if not event.get("more_body"):
            break
    try:
        return orjson.loads(b"".join(pieces))
    except ValueError as error:
        raise RequestError(f"the body isn't JSON: {error}") from None


async def _while_connected(receive: Receive, work: Coroutine[Any, Any, None]) -> None:
    """Do the work unless the client goes away first; then it is cancelled, and its sampling too."""
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(receive())
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _answer(send: Send, status: int, body: Any) -> None:
    raw = orjson.dumps(body)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(raw)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": raw})


async def _stream(send: Send, chunks: AsyncGenerator[dict[str, Any]]) -> None:
    headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    async with aclosing(chunks) as stream:
        try:
            async for chunk in stream:
                await _send_event(send, orjson.dumps(chunk))
        except EngineFailure as error:
            await _send_event(send, orjson.dumps(error_object(error)))
    await _send_event(send, b"[DONE]")
    await send({"type": "http.response.body", "body": b""})


async def _send_event(send: Send, data: bytes) -> None:
    await send({"type": "http.response.body", "body": b"data: " + data + b"\n\n", "more_body": True})
