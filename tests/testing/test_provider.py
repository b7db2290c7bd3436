"""The scripted provider speaks as the real ones do: their SDKs' own types hold every answer, with nothing
missing and nothing besides.
"""

from __future__ import annotations

import asyncio
import json

import anthropic.types as messages
import openai.types as openai_types
from openai.types import chat, responses

from crosswind.testing import Answer, ProviderError
from tests.clients import shop
from tests.testing.calling import THINKING, Caller, calling, chat_body, exact, messages_body, responses_body


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


async def test_failures_of_the_provider() -> None:
    early = ProviderError(429, "slow down", kind="rate_limit_exceeded")
    late = Answer("many words to say", error=ProviderError(529, "Overloaded", kind="server_error"), pieces=4)
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


async def test_messages_as_a_coding_agent_sends_them(caller: Caller) -> None:
    """System prompts amid the conversation, and adaptive thinking that thought of nothing."""
    call = {"type": "tool_use", "id": "t1", "name": "get_order", "input": {}}
    history = [
        {"role": "system", "content": "The folder has changed."},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "x"}]},
    ]
    body = messages_body(*history, thinking={"type": "adaptive"})
    assert exact(messages.Message, await caller.json("/v1/messages", body)).role == "assistant"


async def test_it_notices_amid_a_stream_that_its_client_left() -> None:
    async with calling(lambda _: Answer("word " * 20_000)) as caller, asyncio.timeout(60):
        body = {**chat_body(), "stream": True}
        address = caller.app.url + "/v1/chat/completions"
        key = {"authorization": "Bearer k"}
        async with caller.http.stream("POST", address, json=body, headers=key) as answer:
            async for _ in answer.aiter_raw():
                break
        await caller.app.client_left.wait()
