"""The scripted provider speaks as the real ones do: their SDKs' own types hold every answer, with nothing
missing and nothing besides.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import anthropic.types as messages
import httpx
import openai.types as openai_types
import pytest
from openai.types import chat, responses
from pydantic import BaseModel, TypeAdapter

from tests.clients import shop
from tests.clients.upstream import Answer, Policy, Provider, Refused, provider

CHAT_TOOLS = [
    {
        "type": "function",
        "function": {"name": name, "description": text, "parameters": schema, "strict": True},
    }
    for name, (text, schema) in shop.TOOLS.items()
]
RESPONSES_TOOLS = [{"type": "function", **tool["function"]} for tool in CHAT_TOOLS]  # type: ignore[dict-item]
MESSAGES_TOOLS = [
    {"name": name, "description": text, "input_schema": schema} for name, (text, schema) in shop.TOOLS.items()
]
THINKING = {"type": "enabled", "budget_tokens": 1024}


class Caller:
    """A client of the provider without an SDK."""

    def __init__(self, app: Provider, http: httpx.AsyncClient) -> None:
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


@pytest.fixture
async def caller() -> AsyncIterator[Caller]:
    async with calling(shop.policy) as made:
        yield made


def calling(policy: Policy) -> Any:
    import contextlib

    @contextlib.asynccontextmanager
    async def within() -> AsyncIterator[Caller]:
        async with provider(policy) as app, httpx.AsyncClient(trust_env=False) as http:
            yield Caller(app, http)

    return within()


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


async def test_chat(caller: Caller) -> None:
    plain = exact(chat.ChatCompletion, await caller.json("/v1/chat/completions", chat_body(n=2)))
    assert [choice.finish_reason for choice in plain.choices] == ["tool_calls"] * 2
    options = {"include_usage": True}
    body = chat_body(stream_options=options, logprobs=True, top_logprobs=2, n=2)
    events = await caller.events("/v1/chat/completions", body)
    chunks = [exact(chat.ChatCompletionChunk, event) for event in events]
    assert chunks[-1].usage.total_tokens > 0 and not chunks[-1].choices
    assert all(chunk.usage is None for chunk in chunks[:-1])
    arguments = [
        call.function.arguments
        for chunk in chunks[:-1]
        for choice in chunk.choices
        for call in choice.delta.tool_calls or []
        if choice.index == 0
    ]
    assert len(arguments) > 2 and json.loads("".join(arguments)) == {"order_id": "W17"}


async def test_responses(caller: Caller) -> None:
    given = {"reasoning": {"effort": "low"}, "include": ["reasoning.encrypted_content"]}
    plain = exact(
        responses.Response, await caller.json("/v1/responses", responses_body(shop.QUESTIONS[0], **given))
    )
    assert [item.type for item in plain.output] == ["reasoning", "message", "function_call"]
    events = await caller.events("/v1/responses", responses_body(shop.QUESTIONS[0], **given))
    typed = [exact(responses.ResponseStreamEvent, event) for event in events]
    assert [event.sequence_number for event in typed] == list(range(len(typed)))
    assert typed[-1].type == "response.completed" and typed[-1].response.output[2].name == "get_order"
    listed = await caller.json(f"/v1/responses/{plain.id}/input_items", None, "GET")
    assert exact(responses.ResponseItemList, listed).data[0].content[0].text == shop.QUESTIONS[0]
    kept = await caller.json(f"/v1/responses/{plain.id}", None, "GET")
    assert exact(responses.Response, kept) == plain
    await caller.json(f"/v1/responses/{plain.id}", None, "DELETE")
    assert (await caller.call(f"/v1/responses/{plain.id}", None, "GET")).status_code == 404


async def test_messages(caller: Caller) -> None:
    plain = exact(messages.Message, await caller.json("/v1/messages", messages_body(thinking=THINKING)))
    assert [block.type for block in plain.content] == ["thinking", "text", "tool_use"]
    events = await caller.events("/v1/messages", messages_body(thinking=THINKING))
    pings = [event for event in events if event["type"] == "ping"]
    assert len(pings) == 1
    for event in events:
        if event["type"] != "ping":
            exact(messages.RawMessageStreamEvent, event)
    assert events[-2]["delta"]["stop_reason"] == "tool_use" and events[-1]["type"] == "message_stop"
    count = messages_body()
    del count["max_tokens"]
    exact(messages.MessageTokensCount, await caller.json("/v1/messages/count_tokens", count))


async def test_the_small_routes(caller: Caller) -> None:
    asked = {"model": "small", "prompt": "W17", "stream_options": None}
    assert exact(openai_types.Completion, await caller.json("/v1/completions", asked)).choices[0].text
    for event in await caller.events("/v1/completions", asked):
        # The type says that the reason is always there; on the wire it is null before the end.
        event["choices"][0]["finish_reason"] = event["choices"][0]["finish_reason"] or "stop"
        exact(openai_types.Completion, event)
    asked = {"model": "small", "input": ["a", "b"]}
    floats = exact(openai_types.CreateEmbeddingResponse, await caller.json("/v1/embeddings", asked))
    assert len(floats.data[0].embedding) == 8 and floats.data[0] != floats.data[1]
    for model in (await caller.json("/v1/models", None, "GET"))["data"]:
        exact(openai_types.Model, model)
    headers = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
    answer = await caller.http.get(caller.app.url + "/v1/models", headers=headers)
    for model in answer.json()["data"]:
        exact(messages.ModelInfo, model)


def called(name: str, call_id: str) -> dict[str, Any]:
    function = {"name": name, "arguments": "{}"}
    calls = [{"id": call_id, "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "x"}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (chat_body(called("get_order", "c1")), "did not have response messages: c1"),
        (chat_body(result("c1")), "must be a response to a preceeding message"),
        (chat_body(called("get_order", "c1"), result("c2")), "must be a response to a preceeding message"),
        (chat_body(surprise=1), "Unrecognized request argument supplied: surprise"),
        (chat_body(stream_options={}), "only allowed when 'stream' is enabled"),
        (
            chat_body(tool_choice={"type": "function", "function": {"name": "gone"}}),
            "is not one of the tools",
        ),
    ],
)
async def test_what_chat_refuses(caller: Caller, body: dict[str, Any], said: str) -> None:
    answer = await caller.call("/v1/chat/completions", body)
    assert answer.status_code == 400 and said in answer.json()["error"]["message"]


def use(*ids: str) -> dict[str, Any]:
    blocks = [{"type": "tool_use", "id": one, "name": "get_order", "input": {}} for one in ids]
    return {"role": "assistant", "content": blocks}


def uses(*ids: str, **more: Any) -> dict[str, Any]:
    blocks = [{"type": "tool_result", "tool_use_id": one, "content": "x", **more} for one in ids]
    return {"role": "user", "content": blocks}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (messages_body(use("t1")), "`tool_use` ids were found without `tool_result` blocks"),
        (
            messages_body(use("t1", "t2"), uses("t1")),
            "`tool_use` ids were found without `tool_result` blocks",
        ),
        (messages_body(use("t1"), uses("t2")), "unexpected `tool_use_id` found in `tool_result` blocks: t2"),
        (messages_body(uses("t1")), "unexpected `tool_use_id` found"),
        (messages_body(use("t1"), uses("t1"), thinking=THINKING), "Expected `thinking`"),
        (messages_body(tools=[MESSAGES_TOOLS[0]] * 2), "Tool names must be unique"),
        (messages_body(surprise=1), "surprise: Extra inputs are not permitted"),
        (messages_body(messages=[{"role": "assistant", "content": "a"}]), 'must use the "user" role'),
        (
            messages_body(
                *(one for n in range(5) for one in (use(f"t{n}"), uses(f"t{n}", cache_control={"a": 1})))
            ),
            "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        ),
    ],
)
async def test_what_messages_refuses(caller: Caller, body: dict[str, Any], said: str) -> None:
    answer = await caller.call("/v1/messages", body)
    assert answer.status_code == 400 and said in answer.json()["error"]["message"]
    exact(messages.ErrorResponse, answer.json())


async def test_a_changed_thinking_block_is_refused(caller: Caller) -> None:
    said = await caller.json("/v1/messages", messages_body(thinking=THINKING))
    answered = uses(said["content"][2]["id"])
    turn = {"role": "assistant", "content": said["content"]}
    await caller.json("/v1/messages", messages_body(turn, answered, thinking=THINKING))
    said["content"][0]["thinking"] += "!"
    answer = await caller.call("/v1/messages", messages_body(turn, answered, thinking=THINKING))
    assert "Invalid `signature` in `thinking` block" in answer.text


async def test_what_responses_refuses(caller: Caller) -> None:
    reasoning = {"reasoning": {"effort": "low"}}
    said = await caller.json("/v1/responses", responses_body(shop.QUESTIONS[0], **reasoning))
    call = said["output"][2]
    result = {"type": "function_call_output", "call_id": call["call_id"], "output": "x"}

    async def refused(body: dict[str, Any]) -> str:
        answer = await caller.call("/v1/responses", body)
        assert answer.status_code in (400, 404), answer.text
        return str(answer.json()["error"]["message"])

    after = {"previous_response_id": said["id"]}
    assert "No tool output found for function call" in await refused(responses_body("and?", **after))
    assert "No tool call found" in await refused(responses_body([result]))
    assert "not found" in await refused(responses_body([result], previous_response_id="resp_gone"))
    assert "without its required 'reasoning' item" in await refused(responses_body([call, result]))
    assert "without its required following item" in await refused(responses_body([said["output"][0]]))
    await caller.json("/v1/responses", responses_body([result], **after))
    reference = {"type": "item_reference"}
    items = [{**reference, "id": item["id"]} for item in said["output"]]
    await caller.json("/v1/responses", responses_body([*items, result]))


async def test_failures_of_the_provider() -> None:
    early = Refused(429, "slow down", kind="rate_limit_exceeded")
    late = Answer("many words to say", error=Refused(529, "Overloaded", kind="server_error"), pieces=4)
    async with calling(lambda _: Answer(error=early)) as caller:
        answer = await caller.call("/v1/messages", messages_body())
        assert answer.status_code == 429
        assert exact(messages.ErrorResponse, answer.json()).error.type == "rate_limit_error"
        assert (await caller.call("/v1/chat/completions", chat_body())).json()["error"][
            "message"
        ] == "slow down"
    async with calling(lambda _: late) as caller:
        last = (await caller.events("/v1/messages", messages_body()))[-1]
        assert last["type"] == "error" and last["error"]["type"] == "overloaded_error"
        assert (await caller.events("/v1/chat/completions", chat_body()))[-1]["error"][
            "message"
        ] == "Overloaded"
        last = (await caller.events("/v1/responses", responses_body("x")))[-1]
        assert exact(responses.ResponseStreamEvent, last).response.error.code == "server_error"


async def test_a_call_that_comes_back_changed_is_noticed(caller: Caller) -> None:
    said = (await caller.json("/v1/chat/completions", chat_body()))["choices"][0]["message"]
    result = {"role": "tool", "tool_call_id": said["tool_calls"][0]["id"], "content": "x"}
    turn = {name: said[name] for name in ("role", "content", "tool_calls")}
    await caller.json("/v1/chat/completions", chat_body(turn, result))
    assert not caller.app.complaints
    turn["tool_calls"][0]["function"]["name"] = "get_user"
    await caller.json("/v1/chat/completions", chat_body(turn, result))
    assert "came back as get_user" in caller.app.complaints[0]
