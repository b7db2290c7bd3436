"""A scripted OpenAI-compatible server that writes texts for noise: real HTTP over loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Write = Callable[[str, str], str]
"""System prompt and material -> the text."""


@dataclass
class Writer:
    """What the model was asked, and how it answers: a text, a status, or nothing until `goes_on`."""

    write: Write
    url: str = ""
    status: int = 200
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    stalls: bool = False
    goes_on: asyncio.Event = field(default_factory=asyncio.Event)
    was_asked: asyncio.Event = field(default_factory=asyncio.Event)
    raw: bytes | None = None
    """Answered as it is, in place of a completion."""

    @property
    def prompts(self) -> list[tuple[str, str]]:
        return [(body["messages"][0]["content"], body["messages"][1]["content"]) for body in self.asked]

    async def _chat(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.asked.append(body)
        self.keys.append(request.headers.get("authorization"))
        self.was_asked.set()
        if self.stalls:
            await self.goes_on.wait()
        if self.status != 200:
            return web.json_response({"error": {"message": "no"}}, status=self.status)
        if self.raw is not None:
            return web.Response(body=self.raw, content_type="application/json")
        system, user = (message["content"] for message in body["messages"])
        message = {"role": "assistant", "content": self.write(system, user)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return web.json_response({"id": "c", "object": "chat.completion", "choices": [choice]})


@asynccontextmanager
async def writer(write: Write) -> AsyncIterator[Writer]:
    """The server, within the block."""
    scripted = Writer(write)
    app = web.Application()
    app.router.add_post("/v1/chat/completions", scripted._chat)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        scripted.url = f"http://{host}:{port}/v1"
        yield scripted
    finally:
        scripted.goes_on.set()
        await runner.cleanup()


def configured(scripted: Writer, **more: Any) -> dict[str, Any]:
    """The setting `noise_model` for it."""
    return {"url": scripted.url, "model": "scribe", "wait": 10.0, **more}


def in_order(*texts: str) -> Write:
    """One text after the other, the last one again and again."""
    left = list(texts)
    return lambda _system, _user: left.pop(0) if len(left) > 1 else left[0]


def as_lines(*sentences: str) -> Write:
    """As many of the sentences as any prompt could ask for."""
    return lambda _system, _user: "\n".join(sentences)


def as_json(value: Any) -> Write:
    text = json.dumps(value)
    return lambda _system, _user: text
