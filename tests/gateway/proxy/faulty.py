"""A gateway with one fault, and the three agents' protocols as their real SDKs speak them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anthropic
import httpx
import httpx2
import openai
import pytest

from crosswind.testing import Answer, Call, Dialogue, ScriptedProvider
from crosswind.testing.dialogue import Decide
from tests.gateway.servers import Running, gateway, wait_until

TEXT = "The order has left the house and comes on Monday, if all goes well with the weather and the road."
QUESTION = [{"role": "user", "content": "Where is it?"}]
KEPT: Any = [*QUESTION, {"role": "assistant", "content": "Which one?"}, {"role": "user", "content": "W1."}]
RETRY = {"x-stainless-retry-count": "1"}
KEY: Any = {"api_key": "unused-but-long", "max_retries": 0}
TOOL = {"name": "get_order", "description": "One order.", "parameters": {"type": "object", "properties": {}}}


def profile(operator: str, tmp: Path) -> str:
    path = tmp / "faults.yaml"
    path.write_text(
        "name: faults\nversion: 1\nsummary: One fault.\ncompose: all_of\n"
        "bounds: {faults_per_call: 1, faults_per_session: 5}\n"
        f"rules:\n  - operator: {operator}\n    severity: 1.0\n    when: {{probability: 1.0}}\n"
    )
    return str(path)


def answer(dialogue: Dialogue) -> Answer:
    calls = (Call("get_order", {"id": "W1"}), Call("get_order", {"id": "W2"}))
    return Answer(None, calls) if dialogue.tools else Answer(TEXT)


@asynccontextmanager
async def serving(
    tmp: Path, operator: str, policy: Decide = answer, **more: Any
) -> AsyncIterator[tuple[ScriptedProvider, Running]]:
    given = {"profile": profile(operator, tmp)} | more
    async with ScriptedProvider(policy) as app, gateway(tmp, app.url, **given) as running:
        yield app, running
        assert not app.refusals


async def turns(running: Running) -> list[dict[str, Any]]:
    """The turns on record once no request is served: a stream is read to its end, for the record, after its
    client was cut off.
    """
    await wait_until(lambda: running.gateway.metrics.in_flight == 0)
    stored: list[dict[str, Any]] = (await running.trajectory("one"))["turns"]
    return stored


@dataclass
class Seen:
    """An answer as its agent reads it: the text, the calls (id, name, arguments), and how it ended."""

    text: str
    calls: list[tuple[str, str, str]]
    finish: str | None


@dataclass(frozen=True)
class Protocol:
    """One protocol. `call` sends a body through its SDK and gives the answer's body."""

    path: str
    body: dict[str, Any]
    tools: list[Any]
    call: Callable[[Running, dict[str, Any]], Any]
    read: Callable[[Any], Seen]
    broken: tuple[type[Exception], ...]
    """What its SDK raises where the connection breaks."""
    refused: type[Exception]
    overloaded: int = 503

    async def ask(
        self, running: Running, *, stream: bool = False, retry: bool = False, tools: bool = False, **more: Any
    ) -> Seen:
        body = self.body | ({"tools": self.tools} if tools else {}) | more
        headers = {"extra_headers": RETRY} if retry else {}
        return self.read(await self.call(running, body | headers | ({"stream": True} if stream else {})))

    def read_raw(self, body: str) -> Seen:
        return self.read(json.loads(body))

    def request(self, running: Running, **more: Any) -> dict[str, Any]:
        """The request as httpx takes it."""
        key = {"x-api-key": "unused-but-long", "authorization": "Bearer unused-but-long"}
        headers = key | {"anthropic-version": "2023-06-01"}
        url = f"{running.data}/s/one/v1/{self.path}"
        return {"url": url, "json": self.body | more, "headers": headers}


async def call_chat(running: Running, body: dict[str, Any]) -> Any:
    async with openai.AsyncOpenAI(base_url=f"{running.data}/s/one/v1", **KEY) as sdk:
        if not body.get("stream"):
            return (await sdk.chat.completions.create(**body)).to_dict()
        message: dict[str, Any] = {"content": "", "tool_calls": {}}
        finish = None
        async for chunk in await sdk.chat.completions.create(**body):
            for choice in chunk.choices:
                finish = choice.finish_reason or finish
                message["content"] += choice.delta.content or ""
                for part in choice.delta.tool_calls or ():
                    whole = message["tool_calls"].setdefault(part.index, {"id": "", "function": {}})
                    whole["id"] += part.id or ""
                    for name, value in part.function.to_dict().items() if part.function else ():
                        whole["function"][name] = whole["function"].get(name, "") + str(value)
        message["tool_calls"] = list(message["tool_calls"].values())
        return {"choices": [{"message": message, "finish_reason": finish}]}


async def call_messages(running: Running, body: dict[str, Any]) -> Any:
    async with anthropic.AsyncAnthropic(base_url=f"{running.data}/s/one", **KEY) as sdk:
        if not body.pop("stream", False):
            return (await sdk.messages.create(**body)).to_dict()
        async with sdk.messages.stream(**body) as events:
            return (await events.get_final_message()).to_dict()


async def call_responses(running: Running, body: dict[str, Any]) -> Any:
    async with openai.AsyncOpenAI(base_url=f"{running.data}/s/one/v1", **KEY) as sdk:
        if not body.get("stream"):
            return (await sdk.responses.create(**body)).to_dict()
        # The SDK's own helper refuses calls that share an id.
        last: Any = [event async for event in await sdk.responses.create(**body)][-1]
        return last.response.to_dict()


def read_chat(body: Any) -> Seen:
    choice = body["choices"][0]
    functions = [(one["id"], one["function"]) for one in choice["message"].get("tool_calls") or ()]
    calls = [(call_id, one["name"], one["arguments"]) for call_id, one in functions]
    return Seen(choice["message"].get("content") or "", calls, choice["finish_reason"])


def read_message(body: Any) -> Seen:
    calls = [one for one in body["content"] if one["type"] == "tool_use"]
    text = "".join(one["text"] for one in body["content"] if one["type"] == "text")
    read = [(one["id"], one["name"], json.dumps(one["input"])) for one in calls]
    return Seen(text, read, body["stop_reason"])


def read_response(body: Any) -> Seen:
    calls = [one for one in body["output"] if one["type"] == "function_call"]
    parts = [part for one in body["output"] if one["type"] == "message" for part in one["content"]]
    read = [(one["call_id"], one["name"], one["arguments"]) for one in calls]
    why = (body.get("incomplete_details") or {}).get("reason")
    return Seen("".join(part["text"] for part in parts), read, why or body["status"])


CHAT = Protocol(
    "chat/completions",
    {"model": "m", "messages": QUESTION},
    [{"type": "function", "function": TOOL}],
    call_chat,
    read_chat,
    # In a stream's middle the error of the SDK's HTTP library comes through.
    (openai.APIConnectionError, httpx.TransportError),
    openai.APIStatusError,
)
MESSAGES = Protocol(
    "messages",
    {"model": "m", "max_tokens": 64, "messages": QUESTION},
    [{"name": TOOL["name"], "description": TOOL["description"], "input_schema": TOOL["parameters"]}],
    call_messages,
    read_message,
    (anthropic.APIConnectionError, httpx2.TransportError),
    anthropic.APIStatusError,
    529,
)
RESPONSES = Protocol(
    "responses",
    {"model": "m", "input": KEPT},
    [{"type": "function", **TOOL, "strict": False}],
    call_responses,
    read_response,
    (openai.APIConnectionError,),
    openai.APIStatusError,
)
EACH = pytest.mark.parametrize("protocol", [CHAT, MESSAGES, RESPONSES], ids=["chat", "messages", "responses"])
STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
