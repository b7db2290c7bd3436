"""Replies of an engine that gives token ids where it is asked for them, as vLLM and our own do."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from crosswind.testing.replies import DONE, JSON, SSE, Part, ReceivedRequest, Reply
from tests.gateway.servers import answer, event

PROMPT = [1, 2, 3]
TOKENS = [10, 11, 12]
LOGPROBS = [-0.5, -0.25, -1.5]
SPANS = [{"version": "v1", "start": 0, "end": 2}, {"version": "v2", "start": 2, "end": 3}]


def engine(*, tokens: list[int] | None = None, prompt: list[int] | None = None, **wrong: Any) -> Reply:
    """A reply by the engine's rules; `wrong` overrides fields of the answer, to make it contradict itself."""
    ids, start = tokens or TOKENS, prompt or PROMPT

    async def reply(seen: ReceivedRequest) -> AsyncIterator[Part]:
        asked = seen.json
        if asked.get("stream"):
            yield 200, [SSE]
            for part in streamed(asked, ids, start, wrong):
                yield part
        else:
            body = json.dumps(whole(asked, ids, start, wrong)).encode()
            yield 200, [JSON, (b"content-length", str(len(body)).encode())]
            yield body

    return reply


def logprobs(values: list[float], asked: dict[str, Any]) -> dict[str, Any]:
    """Each token's, with the next ids' in the place of other likely ones."""
    top = int(asked.get("top_logprobs", 0))
    named = "token_id:{}".format if asked.get("return_tokens_as_token_ids") else "text {}".format
    likely = [{"token": named(rank), "logprob": -1.0 - rank, "bytes": None} for rank in range(top)]
    return {
        "content": [
            {"token": "t", "logprob": value, "bytes": None, "top_logprobs": likely} for value in values
        ]
    }


def whole(asked: dict[str, Any], ids: list[int], prompt: list[int], wrong: dict[str, Any]) -> dict[str, Any]:
    body = answer(usage={"prompt_tokens": len(prompt), "completion_tokens": len(ids), "total_tokens": 0})
    choice = body["choices"][0]
    if asked.get("return_token_ids"):
        body["prompt_token_ids"] = prompt
        choice |= {"token_ids": ids, "weight_versions": SPANS}
    if asked.get("logprobs"):
        choice["logprobs"] = logprobs(LOGPROBS[: len(ids)], asked)
    choice.update(wrong.get("choice", {}))
    return body | {name: value for name, value in wrong.items() if name != "choice"}


def streamed(asked: dict[str, Any], ids: list[int], prompt: list[int], wrong: dict[str, Any]) -> list[bytes]:
    capture = bool(asked.get("return_token_ids"))
    parts = [event([{"index": 0, "delta": {"role": "assistant"}, "finish_reason": None, "logprobs": None}])]
    if capture:
        parts[0] = parts[0].replace(
            b"data: {", b'data: {"prompt_token_ids": ' + json.dumps(prompt).encode() + b", ", 1
        )
    for token, value in zip(ids, LOGPROBS, strict=False):
        choice: dict[str, Any] = {
            "index": 0,
            "delta": {"content": "x"},
            "finish_reason": None,
            "logprobs": None,
        }
        if capture:
            choice["token_ids"] = [token]
        if asked.get("logprobs"):
            choice["logprobs"] = logprobs([value], asked)
        parts.append(event([choice]))
    last: dict[str, Any] = {"index": 0, "delta": {}, "finish_reason": "stop", "logprobs": None}
    parts.append(event([last | ({"weight_versions": SPANS} if capture else {}) | wrong.get("choice", {})]))
    if (asked.get("stream_options") or {}).get("include_usage"):
        parts.append(event([], usage=wrong.get("usage", {"completion_tokens": len(ids)})))
    return [*parts, DONE]
