"""The engine as clients meet it: the real openai SDK over a real socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest
from openai import AsyncOpenAI, OpenAI

from crosswind.policies.embedded.chat import ChatFormat
from tests.policies.asking import CAPTURED
from tests.policies.asking import ask as ask_for
from tests.policies.conftest import TOOLS, Served, serving

ASK: list[Any] = [
    {"role": "system", "content": "You help."},
    {"role": "user", "content": "What is the status of order #W1234?"},
]


@pytest.fixture
def sdk(served: Served) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0) as client:
        yield client


def _raw(served: Served, **fields: Any) -> dict[str, Any]:
    return ask_for(served.url, {"messages": ASK, **CAPTURED, **fields})


def test_plain_answer_counts_every_sampled_token(served: Served, sdk: OpenAI) -> None:
    answer = sdk.chat.completions.create(
        model="policy",
        messages=ASK,
        tools=TOOLS,  # type: ignore[arg-type]
        max_tokens=12,
        logprobs=True,
        seed=1,
    )
    raw = _raw(served, tools=TOOLS, max_tokens=12, seed=1)
    choice = raw["choices"][0]
    assert answer.usage is not None and answer.choices[0].logprobs is not None
    assert answer.choices[0].message.content == choice["message"]["content"]
    assert len(answer.choices[0].logprobs.content or []) == answer.usage.completion_tokens
    assert len(choice["token_ids"]) == len(choice["logprobs"]["content"]) == raw["usage"]["completion_tokens"]
    assert raw["usage"]["prompt_tokens"] == len(raw["prompt_token_ids"])
    assert choice["weight_versions"] == [{"version": "random-0", "start": 0, "end": len(choice["token_ids"])}]


def test_prompt_ids_are_what_transformers_would_send(served: Served) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(served.first.path))
    messages = [
        *ASK,
        {"role": "assistant", "content": None, "tool_calls": [_call("get_order", '{"order_id": "#W1234"}')]},
        {"role": "tool", "tool_call_id": "a", "content": '{"status": "cancelled", "title": "Käse <b>&'},
    ]
    expected = tokenizer.apply_chat_template(
        messages, tools=TOOLS, add_generation_prompt=True, return_dict=True
    )
    assert (
        _raw(served, messages=messages, tools=TOOLS, max_tokens=1)["prompt_token_ids"]
        == expected["input_ids"]
    )


def test_a_stream_brings_the_same_tokens_as_the_plain_answer(served: Served) -> None:
    for seed in range(8):
        plain = _raw(served, tools=TOOLS, max_tokens=24, seed=seed, temperature=1.5)
        chunks = _stream(served, tools=TOOLS, max_tokens=24, seed=seed, temperature=1.5)
        choice = plain["choices"][0]
        parts = [chunk["choices"][0] for chunk in chunks if chunk["choices"]]
        assert chunks[0]["prompt_token_ids"] == plain["prompt_token_ids"]
        assert [token for part in parts for token in part.get("token_ids", [])] == choice["token_ids"]
        logprobs = [
            entry["logprob"] for part in parts for entry in (part["logprobs"] or {"content": []})["content"]
        ]
        assert logprobs == pytest.approx(
            [entry["logprob"] for entry in choice["logprobs"]["content"]], abs=1e-5
        )
        assert "".join(part["delta"].get("content") or "" for part in parts) == (
            choice["message"]["content"] or ""
        )
        assert parts[-1]["finish_reason"] == choice["finish_reason"]
        assert parts[-1]["weight_versions"] == choice["weight_versions"]
        assert chunks[-1]["usage"]["completion_tokens"] == plain["usage"]["completion_tokens"]


async def test_the_same_seed_gives_the_same_tokens_whatever_else_is_in_the_batch(served: Served) -> None:
    alone = {seed: _raw(served, max_tokens=16, seed=seed)["choices"][0]["token_ids"] for seed in range(6)}
    async with httpx.AsyncClient(timeout=60) as http:

        async def ask(seed: int, text: str) -> list[int]:
            messages = [*ASK[:1], {"role": "user", "content": text}]
            body = {"messages": messages, "max_tokens": 16, "seed": seed, "return_token_ids": True}
            answer = (await http.post(f"{served.url}/v1/chat/completions", json=body)).json()
            ids: list[int] = answer["choices"][0]["token_ids"]
            return ids

        others = [ask(seed, f"Find item {seed} of order #W{seed:04d}") for seed in range(30)]
        again = [ask(seed, ASK[1]["content"]) for seed in alone]
        tokens = await asyncio.gather(*others, *again)
    assert tokens[len(others) :] == list(alone.values())
    assert len({tuple(ids) for ids in alone.values()}) == len(alone)


def test_without_a_seed_answers_differ_and_a_fresh_engine_repeats_them(served: Served) -> None:
    def sampled(url: str) -> list[str]:
        with OpenAI(base_url=f"{url}/v1", api_key="none") as client:
            answers = (
                client.chat.completions.create(model="p", messages=ASK, max_tokens=12) for _ in range(3)
            )
            return [str(answer.choices[0].message.content) for answer in answers]

    first = sampled(served.url)
    with serving(served.first.path, seed=0) as url:
        assert sampled(url) == first
    with serving(served.first.path, seed=1) as url:
        assert sampled(url) != first
    assert len(set(first)) == 3


def test_temperature_0_is_greedy(served: Served) -> None:
    answers = [
        _raw(served, max_tokens=16, seed=seed, temperature=0)["choices"][0]["token_ids"] for seed in (1, 2)
    ]
    assert answers[0] == answers[1]


def test_n_gives_choices_that_differ(served: Served) -> None:
    raw = _raw(served, n=4, max_tokens=8, seed=3)
    tokens = [tuple(choice["token_ids"]) for choice in raw["choices"]]
    assert [choice["index"] for choice in raw["choices"]] == [0, 1, 2, 3]
    assert len(set(tokens)) == 4
    assert raw["usage"]["completion_tokens"] == sum(map(len, tokens))
    streamed = _stream(served, n=4, max_tokens=8, seed=3)
    for choice in raw["choices"]:
        parts = [part for chunk in streamed for part in chunk["choices"] if part["index"] == choice["index"]]
        assert [token for part in parts for token in part.get("token_ids", [])] == choice["token_ids"]


def test_a_stop_string_ends_the_answer_and_is_left_out(served: Served) -> None:
    whole = _raw(served, max_tokens=40, seed=5)["choices"][0]["message"]["content"]
    stop = whole[len(whole) // 2 : len(whole) // 2 + 3]
    assert stop
    choice = _raw(served, max_tokens=40, seed=5, stop=[stop])["choices"][0]
    assert choice["message"]["content"] == whole[: whole.index(stop)]
    assert choice["finish_reason"] == "stop"
    parts = [
        chunk["choices"][0] for chunk in _stream(served, max_tokens=40, seed=5, stop=stop) if chunk["choices"]
    ]
    assert "".join(part["delta"].get("content") or "" for part in parts) == whole[: whole.index(stop)]


def test_a_clients_departure_frees_its_row(served: Served) -> None:
    body = {"messages": ASK, "max_tokens": 900, "stream": True, "seed": 1}
    with httpx.stream("POST", f"{served.url}/v1/chat/completions", json=body, timeout=60) as response:
        next(response.iter_lines())
    _raw(served, max_tokens=2)
    while served.client.health().in_flight:
        _raw(served, max_tokens=1)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"messages": []}, "messages"),
        ({"messages": [{"content": "x"}]}, "messages[0]"),
        ({"temperature": "hot"}, "temperature"),
        ({"temperature": -1}, "temperature"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"n": 1000}, "n"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"top_logprobs": 3}, "top_logprobs"),
        ({"top_logprobs": 21, "logprobs": True}, "top_logprobs"),
        ({"stop": [1]}, "stop"),
        ({"tools": [{"type": "function"}]}, "tools[0]"),
        ({"messages": [{"role": "user", "content": "word " * 2000}]}, "messages"),
    ],
)
def test_a_bad_request_names_its_field(served: Served, fields: dict[str, Any], param: str) -> None:
    body = {"model": "policy", "messages": ASK} | fields
    response = httpx.post(f"{served.url}/v1/chat/completions", json=body, timeout=60)
    assert response.status_code == 400
    assert response.json()["error"]["param"] == param


def test_errors_reach_the_sdk_as_its_own(served: Served, sdk: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="context is 1024") as caught:
        sdk.chat.completions.create(model="p", messages=[{"role": "user", "content": "word " * 2000}])
    assert caught.value.code == "context_length_exceeded"
    broken = httpx.post(f"{served.url}/v1/chat/completions", content=b"{", timeout=60)
    assert broken.status_code == 400 and "JSON" in broken.json()["error"]["message"]
    assert httpx.get(f"{served.url}/nowhere", timeout=60).status_code == 404


async def test_models_and_the_asynchronous_sdk(served: Served) -> None:
    async with AsyncOpenAI(base_url=f"{served.url}/v1", api_key="none") as client:
        assert [model.id async for model in client.models.list()] == ["policy"]
        stream = await client.chat.completions.create(model="policy", messages=ASK, max_tokens=6, stream=True)
        finishes = [chunk.choices[0].finish_reason async for chunk in stream]
    assert finishes[-1] in ("length", "stop") and not any(finishes[:-1])


def test_health(served: Served) -> None:
    assert httpx.get(f"{served.url}/health", timeout=60).json() == {"status": "ok"}


def test_prefixes_are_reused_within_and_across_sessions(served: Served) -> None:
    cold = _raw(served, tools=TOOLS, max_tokens=1)["usage"]
    warm = _raw(served, tools=TOOLS, max_tokens=1)["usage"]
    assert cold["prompt_tokens_details"]["cached_tokens"] == 0
    assert warm["prompt_tokens"] - warm["prompt_tokens_details"]["cached_tokens"] <= 8


def test_what_decodes_is_what_was_sampled(served: Served) -> None:
    choice = _raw(served, max_tokens=20, seed=11, tool_choice="none")["choices"][0]
    assert ChatFormat(served.first.path).decode(choice["token_ids"]) == choice["message"]["content"]


def _call(name: str, arguments: str) -> dict[str, Any]:
    return {"id": "a", "type": "function", "function": {"name": name, "arguments": arguments}}


def _stream(served: Served, **fields: Any) -> list[dict[str, Any]]:
    body = {"messages": ASK, **CAPTURED, "stream": True, "stream_options": {"include_usage": True}, **fields}
    with httpx.stream("POST", f"{served.url}/v1/chat/completions", json=body, timeout=60) as response:
        lines = [line.removeprefix("data: ") for line in response.iter_lines() if line]
    assert lines.pop() == "[DONE]"
    return [json.loads(line) for line in lines]
