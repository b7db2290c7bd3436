"""The engine as an ASGI application: an OpenAI-compatible data plane and the /policy routes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from crosswind.policies.embedded.batch import BatchLimits, DecodeBatch
from crosswind.policies.embedded.chat import ChatFormat
from crosswind.policies.embedded.checkpoint import read_checkpoint
from crosswind.policies.embedded.completions import CompletionAnswer, Completions
from crosswind.policies.embedded.control import Control
from crosswind.policies.embedded.request import RequestError, read_request
from crosswind.policies.embedded.worker import EngineFailure, Worker

T = TypeVar("T")


class EngineApp(Starlette):
    """Serves one policy. The worker's thread lives from ASGI's start-up to its shutdown."""

    def __init__(self, directory: Path, *, seed: int, default_tokens: int, limits: BatchLimits) -> None:
        checkpoint = read_checkpoint(directory)
        chat = ChatFormat(checkpoint.version.home)

        @asynccontextmanager
        async def run_worker(_: Starlette) -> AsyncIterator[None]:
            self._completions = Completions(chat, seed=seed, default_tokens=default_tokens)
            batch = DecodeBatch(checkpoint, limits)
            self._worker = Worker(batch, self._completions.report_progress, self._completions.report_failure)
            self._control = Control(self._worker, directory)
            self._worker.start()
            yield
            self._worker.stop()

        super().__init__(
            routes=[
                Route("/v1/chat/completions", self._complete, methods=["POST"]),
                Route("/v1/models", self._list_models),
                Route("/health", self._tell_health),
                Route("/policy", self._tell_status),
                Route("/policy/publish", self._publish, methods=["POST"]),
                Route("/policy/score", self._score, methods=["POST"]),
            ],
            exception_handlers={
                RequestError: _answer_error,
                EngineFailure: _answer_error,
                HTTPException: _answer_no_route,
            },
            lifespan=run_worker,
        )

    async def _complete(self, request: Request) -> Response:
        asked = read_request(await _read_body(request))
        answer = self._completions.start(asked, self._worker)
        if asked.stream:
            headers = {"cache-control": "no-cache"}
            return StreamingResponse(_stream(answer), headers=headers, media_type="text/event-stream")
        return _answer(await _while_connected(request, answer.whole()))

    async def _list_models(self, _: Request) -> Response:
        model = {"id": "policy", "object": "model", "created": 0, "owned_by": "crosswind"}
        return _answer({"object": "list", "data": [model | {"version": self._worker.version.version}]})

    async def _tell_health(self, _: Request) -> Response:
        return _answer({"status": "ok"})

    async def _tell_status(self, _: Request) -> Response:
        return _answer(self._control.status())

    async def _publish(self, request: Request) -> Response:
        return _answer(await self._control.publish(await _read_body(request)))

    async def _score(self, request: Request) -> Response:
        return _answer(await self._control.score(await _read_body(request)))


def _make_error(error: Exception) -> dict[str, Any]:
    """OpenAI's error object."""
    if isinstance(error, RequestError):
        kind, param, code = "invalid_request_error", error.param, error.code
    else:
        kind, param, code = "server_error", None, "engine_failure"
    return {"error": {"message": str(error), "type": kind, "param": param, "code": code}}


def _answer_error(_: Request, error: Exception) -> Response:
    return _answer(_make_error(error), error.status if isinstance(error, RequestError) else 500)


def _answer_no_route(request: Request, _: Exception) -> Response:
    message = f"no route {request.method} {request.url.path}"
    return _answer_error(request, RequestError(message, None, "not_found", 404))


def _answer(body: Any, status: int = 200) -> Response:
    return Response(orjson.dumps(body), status, media_type="application/json")


async def _read_body(request: Request) -> Any:
    try:
        return orjson.loads(await request.body())
    except ClientDisconnect:
        raise RequestError("the client went away before its request was complete") from None
    except ValueError as error:
        raise RequestError(f"the body isn't JSON: {error}") from None


async def _while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Do the work unless the client goes away first; then it is cancelled, and its sampling too."""
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise RequestError("the client went away before it was answered")
        return working.result()
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _stream(answer: CompletionAnswer) -> AsyncIterator[bytes]:
    async with aclosing(answer.chunks()) as chunks:
        try:
            async for chunk in chunks:
                yield _make_event(orjson.dumps(chunk))
        except EngineFailure as error:
            yield _make_event(orjson.dumps(_make_error(error)))
    yield _make_event(b"[DONE]")


def _make_event(data: bytes) -> bytes:
    return b"data: " + data + b"\n\n"
