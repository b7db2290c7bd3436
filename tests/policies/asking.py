"""Requests to an engine as the gateway makes them, and what comes of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import httpx

from crosswind.policies.versions.version import PolicyVersion

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

    def assert_spans_follow(self, order: Iterable[str]) -> None:
        """The spans cover all tokens, and their versions come in the order in which they were published."""
        assert [span["start"] for span in self.spans] == [0, *(span["end"] for span in self.spans[:-1])]
        assert self.spans[-1]["end"] == len(self.tokens) == len(self.logprobs)
        assert are_in_order(self.versions, order), self.versions


def are_in_order(found: Iterable[str], published: Iterable[str]) -> bool:
    """Whether what was found is part of what was published, in its order."""
    rest = iter(published)
    return all(version in rest for version in found)


async def publish(http: httpx.AsyncClient, url: str, version: PolicyVersion) -> dict[str, Any]:
    """Swap a version in; gives the engine's answer."""
    asked = {"version": version.version, "path": str(version.path)}
    answer = await http.post(f"{url}/policy/publish", json=asked)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


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


async def stream(
    http: httpx.AsyncClient, url: str, body: dict[str, Any], begun: asyncio.Event | None = None
) -> Read:
    """A streamed answer of one choice; `begun` is set when its first token has come."""
    asked = body | {"stream": True, "stream_options": {"include_usage": True}}
    read = Read()
    async with http.stream("POST", f"{url}/v1/chat/completions", json=asked) as response:
        assert response.status_code == 200, await response.aread()
        async for line in response.aiter_lines():
            if line and line != "data: [DONE]":
                _add(read, json.loads(line.removeprefix("data: ")))
                if begun is not None and read.tokens:
                    begun.set()
    return read


async def _first_token(task: asyncio.Task[Any], begun: asyncio.Event) -> None:
    """Wait until a stream has begun, or raise what ended its task before."""
    begins = asyncio.create_task(begun.wait())
    await asyncio.wait([task, begins], return_when=asyncio.FIRST_COMPLETED)
    begins.cancel()
    if task.done():
        task.result()


class Streams:
    """Streams that go on side by side, of which one can wait until each has its first token."""

    def __init__(self, http: httpx.AsyncClient, url: str) -> None:
        self._http, self._url = http, url
        self._tasks: list[asyncio.Task[Read]] = []

    async def begin(self, bodies: list[dict[str, Any]]) -> None:
        """Start one stream per body, and return when each has begun."""
        signs = [asyncio.Event() for _ in bodies]
        tasks = [
            asyncio.create_task(stream(self._http, self._url, body, begun))
            for body, begun in zip(bodies, signs, strict=True)
        ]
        self._tasks += tasks
        for task, begun in zip(tasks, signs, strict=True):
            await _first_token(task, begun)

    async def ends(self) -> list[Read]:
        """What each has read, in the order of their beginnings."""
        return await asyncio.gather(*self._tasks)


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
