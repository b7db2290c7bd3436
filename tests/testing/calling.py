"""Calls to the scripted provider without an SDK, and the SDKs' own types to hold its answers against."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
from pydantic import BaseModel, TypeAdapter

from crosswind.testing import Decide, ScriptedProvider
from tests.clients import shop
from tests.clients.drivers.anthropic_messages import TOOLS as MESSAGES_TOOLS
from tests.clients.drivers.openai_chat import TOOLS as CHAT_TOOLS
from tests.clients.drivers.openai_responses import TOOLS as RESPONSES_TOOLS

THINKING = {"type": "enabled", "budget_tokens": 1024}


class Caller:
    """A client of the provider without an SDK."""

    def __init__(self, app: ScriptedProvider, http: httpx.AsyncClient) -> None:
        self.app, self.http = app, http

    async def call(self, path: str, body: Any, method: str = "POST") -> httpx.Response:
        headers = {"authorization": "Bearer k", "content-type": "application/json"}
        if path.startswith("/v1/messages"):
            headers = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
        raw = None if body is None else json.dumps(body)
        return await self.http.request(method, self.app.url + path, content=raw, headers=headers)

    async def json(self, path: str, body: Any, method: str = "POST") -> Any:
        answer = await self.call(path, body, method)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def events(self, path: str, body: Any) -> list[Any]:
        answer = await self.call(path, {**body, "stream": True})
        assert answer.headers["content-type"].startswith("text/event-stream"), answer.text
        lines = [line[6:] for line in answer.text.split("\n") if line.startswith("data: ")]
        return [json.loads(line) for line in lines if line != "[DONE]"]


@contextlib.asynccontextmanager
async def calling(policy: Decide) -> AsyncIterator[Caller]:
    """A caller of a provider with this policy."""
    async with ScriptedProvider(policy) as app, httpx.AsyncClient(trust_env=False) as http:
        yield Caller(app, http)


def exact(kind: Any, document: Any) -> Any:
    """The document as the SDK's own type, validated. Fails for a member that the type doesn't know."""
    value = TypeAdapter(kind).validate_python(document)
    _no_extras(value, type(value).__name__)
    return value


def _no_extras(value: Any, where: str) -> None:
    if isinstance(value, BaseModel):
        assert not value.model_extra, f"{where}: {value.model_extra}"
        for name in type(value).model_fields:
            _no_extras(getattr(value, name), f"{where}.{name}")
    elif isinstance(value, list):
        for one in value:
            _no_extras(one, where)


def chat_body(*more: Any, **members: Any) -> dict[str, Any]:
    history = [{"role": "system", "content": shop.SYSTEM}, {"role": "user", "content": shop.QUESTIONS[0]}]
    return {"model": "small", "messages": [*history, *more], "tools": CHAT_TOOLS, **members}


def messages_body(*more: Any, **members: Any) -> dict[str, Any]:
    history = [{"role": "user", "content": shop.QUESTIONS[0]}, *more]
    given = {"model": "small", "max_tokens": 2000, "system": shop.SYSTEM, "tools": MESSAGES_TOOLS}
    return {**given, "messages": history, **members}


def responses_body(given: Any, **members: Any) -> dict[str, Any]:
    return {"model": "small", "input": given, "tools": RESPONSES_TOOLS, **members}
