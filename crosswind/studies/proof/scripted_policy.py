"""An OpenAI-compatible server on a loopback port whose every answer a script decides."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from aiohttp import ClientConnectionResetError, web

Decide = Callable[[list[dict[str, Any]], list[dict[str, Any]]], dict[str, Any]]
"""The next message, from the messages and the tools that a request shows."""


PIECE = 4
"""Characters of an event of a stream."""


class ScriptedPolicy:
    """Serves chat completions, streamed or not. With `keep` the bodies that came in are in `requests`."""

    def __init__(self, decide: Decide, *, keep: bool = False) -> None:
        self._decide = decide
        self._keep = keep
        self._count = 0
        self.requests: list[dict[str, Any]] = []
        self.url = ""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[ScriptedPolicy]:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_get("/v1/models", self._models)
        runner = web.AppRunner(app)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            host, port = runner.addresses[0][:2]
            self.url = f"http://{host}:{port}/v1"
            yield self
        finally:
            await runner.cleanup()

    async def _models(self, _: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "policy", "object": "model"}]})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self._count += 1
        if self._keep:
            self.requests.append(body)
        message = self._decide(body["messages"], body.get("tools") or [])
        finish = "tool_calls" if message.get("tool_calls") else "stop"
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        head = {"id": f"chatcmpl-{self._count}", "created": 1, "model": "policy"}
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
            whole = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
            return web.json_response(whole)
        return await self._stream(
            request, {**head, "object": "chat.completion.chunk"}, message, finish, usage
        )

    async def _stream(
        self,
        request: web.Request,
        head: dict[str, Any],
        message: dict[str, Any],
        finish: str,
        usage: dict[str, int],
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        deltas: list[dict[str, Any]] = [
            {"role": "assistant", "content": piece} for piece in _pieces(message["content"] or "")
        ]
        for index, call in enumerate(message.get("tool_calls") or ()):
            function = call["function"]
            start = {**call, "index": index, "function": {"name": function["name"], "arguments": ""}}
            deltas.append({"tool_calls": [start]})
            deltas += [
                {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
                for piece in _pieces(function["arguments"])
            ]
        chunks = [
            {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
        ]
        chunks.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
        chunks.append({**head, "choices": [], "usage": usage})
        # Whoever asked may be gone: what noise duplicates, or breaks off, nobody reads to its end.
        with suppress(ClientConnectionResetError):
            for chunk in chunks:
                await response.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
            await response.write(b"data: [DONE]\n\n")
        return response


def _pieces(text: str) -> Iterator[str]:
    """The text in pieces of about a token."""
    for at in range(0, len(text), PIECE):
        yield text[at : at + PIECE]
