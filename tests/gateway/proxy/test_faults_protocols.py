"""Faults on the link to a provider of Messages or Responses: what the real SDKs meet, that a retry helps, and
what is on record.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anthropic
import httpx
import httpx2
import openai
import pytest

from crosswind.testing import Answer, Dialogue, ScriptedProvider
from crosswind.testing.replies import CUT, chunks
from tests.gateway.protocols.messages import conversation as messages
from tests.gateway.protocols.responses import conversation as responses
from tests.gateway.proxy.test_faults import RETRY, profile
from tests.gateway.servers import Running, gateway, upstream

TEXT = "The order has left the house and comes on Monday, if all goes well with the weather and the road."
QUESTION = [{"role": "user", "content": "Where is it?"}]


@dataclass(frozen=True)
class Protocol:
    """One protocol as its real SDK speaks it. `ask` gives the text of an answer."""

    path: str
    asked: dict[str, Any]
    ask: Callable[[Running, bool, bool], Any]
    says: Callable[[Any], str]
    """The text in an answer's body."""
    broken: tuple[type[Exception], ...]
    """What its SDK raises where the connection breaks."""
    refused: type[Exception]
    limited: type[Exception]
    stream: tuple[bytes, ...]
    """A streamed answer, event by event."""


@asynccontextmanager
async def serving(tmp: Path, operator: str) -> AsyncIterator[tuple[ScriptedProvider, Running]]:
    def policy(_: Dialogue) -> Answer:
        return Answer(TEXT)

    async with (
        ScriptedProvider(policy) as app,
        gateway(tmp, app.url, profile=profile(operator, tmp)) as running,
    ):
        yield app, running


async def ask_anthropic(running: Running, stream: bool, retry: bool) -> str:
    base = f"{running.data}/s/one"
    given: Any = {
        "model": "m",
        "max_tokens": 64,
        "messages": QUESTION,
        "extra_headers": RETRY if retry else {},
    }
    async with anthropic.AsyncAnthropic(base_url=base, api_key="unused-but-long", max_retries=0) as sdk:
        if not stream:
            return said_of_message((await sdk.messages.create(**given)).to_dict())
        async with sdk.messages.stream(**given) as events:
            return said_of_message((await events.get_final_message()).to_dict())


async def ask_openai(running: Running, stream: bool, retry: bool) -> str:
    base = f"{running.data}/s/one/v1"
    given: Any = {"model": "m", "input": QUESTION, "extra_headers": RETRY if retry else {}}
    async with openai.AsyncOpenAI(base_url=base, api_key="unused-but-long", max_retries=0) as sdk:
        if not stream:
            return str((await sdk.responses.create(**given)).output_text)
        async with sdk.responses.stream(**given) as events:
            return str((await events.get_final_response()).output_text)


def said_of_message(message: Any) -> str:
    return "".join(block["text"] for block in message["content"])


def said_of_response(response: Any) -> str:
    return "".join(part["text"] for item in response["output"] for part in item["content"])


MESSAGES = Protocol(
    "messages",
    {"model": "m", "max_tokens": 64, "messages": QUESTION},
    ask_anthropic,
    said_of_message,
    # In a stream's middle the error of its HTTP library comes through.
    (anthropic.APIConnectionError, httpx2.TransportError),
    anthropic.APIStatusError,
    anthropic.RateLimitError,
    tuple(messages.STREAM),
)
RESPONSES = Protocol(
    "responses",
    {"model": "m", "input": QUESTION},
    ask_openai,
    said_of_response,
    (openai.APIConnectionError,),
    openai.APIStatusError,
    openai.RateLimitError,
    tuple(responses.STREAM),
)
EACH = pytest.mark.parametrize("protocol", [MESSAGES, RESPONSES], ids=["messages", "responses"])
STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])


def posting(
    running: Running, protocol: Protocol, *, stream: bool
) -> AbstractAsyncContextManager[httpx.Response]:
    url, key = (
        f"{running.data}/s/one/v1/{protocol.path}",
        {"x-api-key": "unused-but-long", **messages.VERSION},
    )
    return running.http.stream("POST", url, json=protocol.asked | {"stream": stream}, headers=key)


async def turns(running: Running) -> list[dict[str, Any]]:
    stored: list[dict[str, Any]] = (await running.trajectory("one"))["turns"]
    return stored


def recorded_whole(protocol: Protocol, turn: dict[str, Any]) -> None:
    assert protocol.says(json.loads(turn["produced"])) == TEXT


@EACH
@pytest.mark.parametrize(
    ("operator", "stream"),
    [
        ("transport.reset", False),
        ("transport.reset", True),
        ("transport.truncated_body", False),
        ("transport.sse_cut", True),
    ],
)
async def test_a_broken_link_and_a_retry(
    tmp_path: Path, protocol: Protocol, operator: str, stream: bool
) -> None:
    async with serving(tmp_path, operator) as (app, running):
        with pytest.raises(protocol.broken):
            await protocol.ask(running, stream, False)
        assert await protocol.ask(running, stream, True) == TEXT
        first, second = await turns(running)
        assert [(one["index"], one["attempt"]) for one in (first, second)] == [(0, 0), (0, 1)]
        assert (first["error"]["source"], first["error"]["type"]) == ("injected", operator)
        assert (first["delivered"], second["delivered"]) == ("no", "yes") and second["error"] is None
        assert (first["upstream_status"] is None) == (first["produced"] is None)
        if first["produced"] is not None:
            recorded_whole(protocol, first)
        recorded_whole(protocol, second)
        assert not app.refusals


@EACH
async def test_a_stream_is_cut_within_an_event(tmp_path: Path, protocol: Protocol) -> None:
    async with serving(tmp_path, "transport.sse_cut") as (_, running):
        got = b""
        with pytest.raises(httpx.TransportError):
            async with posting(running, protocol, stream=True) as answer:
                async for chunk in answer.aiter_raw():
                    got += chunk
        assert got and not got.endswith(b"\n\n")


@EACH
@STREAMED
@pytest.mark.parametrize("operator", ["transport.bandwidth", "transport.sse_stall"])
async def test_a_slow_answer_comes_whole(
    tmp_path: Path, protocol: Protocol, operator: str, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []

    async def noted(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("crosswind.gateway.proxy.client_link.asyncio.sleep", noted)
    async with serving(tmp_path, operator) as (_, running):
        assert await protocol.ask(running, stream, False) == TEXT
        assert bool(waited) == (stream or operator == "transport.bandwidth")
        (turn,) = await turns(running)
        assert (turn["error"], turn["delivered"]) == (None, "yes")
        recorded_whole(protocol, turn)


@EACH
async def test_a_request_that_is_delivered_twice(tmp_path: Path, protocol: Protocol) -> None:
    async with serving(tmp_path, "transport.duplicated_delivery") as (app, running):
        assert await protocol.ask(running, False, False) == TEXT
        assert len(app.requests) == 2 and app.requests[0].body == app.requests[1].body
        assert len(await turns(running)) == 1


@EACH
@pytest.mark.parametrize(
    ("operator", "status"),
    [("model.rate_limited", 429), ("model.overloaded", None), ("model.context_length", 400)],
)
async def test_a_provider_that_refuses_lets_a_retry_through(
    tmp_path: Path, protocol: Protocol, operator: str, status: int | None
) -> None:
    """Streamed: a refusal stands in the stream's place."""
    overloaded = 529 if protocol is MESSAGES else 503
    async with serving(tmp_path, operator) as (app, running):
        with pytest.raises(protocol.refused) as refused:
            await protocol.ask(running, True, False)
        error: Any = refused.value
        assert error.status_code == (status or overloaded) and not app.requests
        assert isinstance(error, protocol.limited) == (status == 429)
        if operator == "model.context_length" and protocol is RESPONSES:
            assert (error.code, error.param) == ("context_length_exceeded", "input")
        assert await protocol.ask(running, True, True) == TEXT
        first, second = await turns(running)
        assert first["error"]["type"] == operator and second["error"] is None
        assert (second["index"], second["attempt"]) == (0, 1)


@EACH
@pytest.mark.parametrize("within", [False, True], ids=["between events", "within an event"])
async def test_a_stream_that_the_upstream_cuts_ends_with_the_protocols_error(
    tmp_path: Path, protocol: Protocol, within: bool
) -> None:
    came = [*protocol.stream[:5], *([protocol.stream[5][:30]] if within else [])]
    async with upstream(chunks(*came, CUT)) as app, gateway(tmp_path, app) as running:
        with pytest.raises((anthropic.APIStatusError, openai.APIError)) as cut:
            await protocol.ask(running, True, False)
        error: Any = cut.value
        if protocol is MESSAGES:
            assert (error.body["type"], error.body["error"]["type"]) == ("error", "api_error")
        else:
            assert (error.type, error.code) == ("upstream_error", "upstream_cut")
        assert "the upstream broke off its answer" in str(error)
        (turn,) = await turns(running)
        assert (turn["error"]["source"], turn["error"]["type"]) == ("upstream", "upstream_cut")
        assert (turn["fitness"], turn["delivered"]) == ("upstream_error", "no")
