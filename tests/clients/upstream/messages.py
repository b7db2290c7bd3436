"""Anthropic Messages: the answer, plain and as a stream; and the count of a request's tokens."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from tests.clients.upstream import members, messages_input
from tests.clients.upstream.chat import read_body, tokens_in, tokens_out
from tests.clients.upstream.dialogue import Answer, Dialogue, fragments, words
from tests.clients.upstream.provider import Provider, Seen
from tests.clients.upstream.wire import Reply, named, plain, stream


def create(provider: Provider, seen: Seen, _: re.Match[str]) -> Reply:
    body = read_body(seen.body)
    dialogue = messages_input.read(body, provider.produced, members.MESSAGES)
    answer = provider.answer(dialogue)
    blocks = _blocks(provider, answer, body)
    message = {
        "id": provider.new_id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": blocks,
        "stop_reason": "tool_use" if answer.calls else "refusal" if answer.refusal else "end_turn",
        "stop_sequence": None,
        "usage": _usage(dialogue, tokens_out(answer)),
        **answer.more,
    }
    if body.get("stream"):
        return stream(_streamed(message, dialogue, answer))
    return plain(message)


def count_tokens(provider: Provider, seen: Seen, _: re.Match[str]) -> Reply:
    dialogue = messages_input.read(read_body(seen.body), provider.produced, members.COUNT_TOKENS)
    return plain({"input_tokens": tokens_in(dialogue)})


def _blocks(provider: Provider, answer: Answer, body: Any) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    thinks = (body.get("thinking") or {}).get("type") in ("enabled", "adaptive")
    if thinks and answer.reasoning:
        seal = provider.produced.seal(answer.reasoning)
        blocks.append({"type": "thinking", "thinking": answer.reasoning, "signature": seal})
    if answer.text or answer.refusal:
        blocks.append({"type": "text", "text": answer.text or answer.refusal})
    for number, call in enumerate(answer.calls):
        call_id = provider.new_id("toolu_", number)
        provider.produced.call(call_id, call.name, call.arguments)
        blocks.append({"type": "tool_use", "id": call_id, "name": call.name, "input": call.arguments})
    return blocks


def _usage(dialogue: Dialogue, output: int) -> dict[str, Any]:
    return {
        "input_tokens": tokens_in(dialogue),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "output_tokens": output,
        "service_tier": "standard",
    }


def _streamed(message: dict[str, Any], dialogue: Dialogue, answer: Answer) -> Iterator[bytes]:
    opening = {"content": [], "stop_reason": None, "usage": _usage(dialogue, 1)}
    events = _events(message, opening)
    for number, event in enumerate(events):
        if answer.error is not None and number == answer.pieces:
            yield named(answer.error.anthropic())
            return
        yield named(event)


def _events(message: dict[str, Any], opening: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "message_start", "message": message | opening}
    for index, block in enumerate(message["content"]):
        start, deltas = _parts(block)
        yield {"type": "content_block_start", "index": index, "content_block": start}
        if not index:
            yield {"type": "ping"}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
        "usage": {"output_tokens": message["usage"]["output_tokens"]},
    }
    yield {"type": "message_stop"}


def _parts(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A block's opening, and the deltas that complete it."""
    if block["type"] == "text":
        return block | {"text": ""}, [{"type": "text_delta", "text": word} for word in words(block["text"])]
    if block["type"] == "thinking":
        thoughts = [{"type": "thinking_delta", "thinking": word} for word in words(block["thinking"])]
        sealing = {"type": "signature_delta", "signature": block["signature"]}
        return block | {"thinking": "", "signature": ""}, [*thoughts, sealing]
    pieces = ["", *fragments(json.dumps(block["input"]))]
    return block | {"input": {}}, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
