"""Requests to vLLM as the gateway makes them, and what comes of them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import httpx

CAPTURED = {"logprobs": True, "return_token_ids": True}


@dataclass
class Read:
    """A streamed choice, put together."""

    prompt: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    finish: str | None = None
    spans: list[dict[str, Any]] = field(default_factory=list)
    usage: dict[str, Any] = field(default_factory=dict)

    @property
    def versions(self) -> list[str]:
        return [span["version"] for span in self.spans]


def chat(content: str, **options: Any) -> dict[str, Any]:
    """A request of one user message."""
    return {"model": "policy", "messages": [{"role": "user", "content": content}], **CAPTURED, **options}


def ask(url: str, body: dict[str, Any]) -> dict[str, Any]:
    """A plain answer."""
    response = httpx.post(f"{url}/v1/chat/completions", json=body, timeout=120, trust_env=False)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def sampled(answer: dict[str, Any], index: int = 0) -> Read:
    """One choice of a plain answer."""
    choice = answer["choices"][index]
    return Read(
        answer["prompt_token_ids"],
        choice["token_ids"],
        [entry["logprob"] for entry in choice["logprobs"]["content"]],
        choice["finish_reason"],
        choice["weight_versions"],
        answer["usage"],
    )


async def stream(http: httpx.AsyncClient, url: str, body: dict[str, Any]) -> Read:
    """A streamed answer of one choice."""
    asked = body | {"stream": True, "stream_options": {"include_usage": True}}
    read = Read()
    async with http.stream("POST", f"{url}/v1/chat/completions", json=asked) as response:
        assert response.status_code == 200, await response.aread()
        async for line in response.aiter_lines():
            if line and line != "data: [DONE]":
                _add(read, json.loads(line.removeprefix("data: ")))
    return read


def _add(read: Read, chunk: dict[str, Any]) -> None:
    read.prompt = chunk.get("prompt_token_ids") or read.prompt
    read.usage = chunk.get("usage") or read.usage
    for choice in chunk["choices"]:
        read.tokens += choice.get("token_ids") or []
        read.logprobs += [
            entry["logprob"] for entry in (choice.get("logprobs") or {"content": []})["content"]
        ]
        read.finish = choice["finish_reason"] or read.finish
        read.spans = choice.get("weight_versions") or read.spans
