"""A policy by script: an upstream that decides what to answer by what it is shown."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

from crosswind.testing.replies import DONE, JSON, SSE, Part, ReceivedRequest, Reply
from tests.gateway.servers import delta, event


@dataclass(frozen=True)
class Said:
    """One answer: a text, and calls (id, name, arguments)."""

    text: str | None = None
    calls: tuple[tuple[str, str, dict[str, Any]], ...] = ()


Policy = Callable[[dict[str, Any]], Said]
"""Decides by a request's body."""


def acting(policy: Policy) -> Reply:
    """A reply that follows the policy, streamed where the request asks for it."""

    async def reply(seen: ReceivedRequest) -> AsyncIterator[Part]:
        body = seen.json
        said = policy(body)
        finish = "tool_calls" if said.calls else "stop"
        usage = {"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 14}
        if not body.get("stream"):
            yield 200, [JSON]
            yield json.dumps(_plain(said, finish, usage)).encode()
            return
        yield 200, [SSE]
        for choice in _deltas(said):
            yield event([choice])
        yield event([delta(finish=finish)])
        if (body.get("stream_options") or {}).get("include_usage"):
            yield event([], usage=usage)
        yield DONE

    return reply


def _plain(said: Said, finish: str, usage: dict[str, int]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said.text}
    if said.calls:
        message["tool_calls"] = [
            {
                "id": call_id,
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for call_id, name, arguments in said.calls
        ]
    return {
        "id": f"chatcmpl-{abs(hash(said.text)) % 7}",
        "object": "chat.completion",
        "created": 1,
        "model": "tiny",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": usage,
    }


def _deltas(said: Said) -> list[dict[str, Any]]:
    """The pieces of an answer: a name comes in two, as some engines send it, its arguments in threes."""
    opening = {"role": "assistant", "content": ""}
    out: list[dict[str, Any]] = [{"index": 0, "delta": opening, "finish_reason": None}]
    out += [delta(word + " ") for word in (said.text or "").split()]
    for index, (call_id, name, arguments) in enumerate(said.calls):
        raw = json.dumps(arguments)
        head = {"id": call_id, "type": "function", "function": {"name": name[:4], "arguments": ""}}
        texts = [raw[at : at + 3] for at in range(0, len(raw), 3)]
        pieces = [
            head,
            {"function": {"name": name[4:]}},
            *({"function": {"arguments": text}} for text in texts),
        ]
        for piece in pieces:
            out.append(
                {"index": 0, "delta": {"tool_calls": [{"index": index, **piece}]}, "finish_reason": None}
            )
    return out
