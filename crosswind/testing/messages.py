"""Anthropic Messages: the request as its provider reads or refuses it, the answer plain and as a stream."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from crosswind.testing.checks import COUNT_TOKENS, MESSAGES, anthropic_tool, check_members, read_body
from crosswind.testing.dialogue import (
    Answer,
    CallItem,
    DeclaredTool,
    Dialogue,
    Item,
    MessageItem,
    ResultItem,
    fragments,
    tokens_in,
    usage_tokens,
    words,
)
from crosswind.testing.errors import refuse
from crosswind.testing.memory import Issued
from crosswind.testing.replies import ReceivedRequest, RouteResponse, break_off, named_event
from crosswind.testing.state import ProviderState


async def create(provider: ProviderState, request: ReceivedRequest, _: re.Match[str]) -> RouteResponse:
    body = read_body(request)
    dialogue = _read_dialogue(provider, body, MESSAGES)
    answer = await provider.answer(dialogue)
    blocks = _blocks(provider, answer, body)
    message = {
        "id": provider.new_id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": blocks,
        "stop_reason": "tool_use" if answer.calls else "refusal" if answer.refusal else "end_turn",
        "stop_sequence": None,
        "usage": _usage(*usage_tokens(dialogue, answer)),
        **answer.more,
    }
    if body.get("stream"):
        return RouteResponse(events=_stream_events(message, answer))
    return RouteResponse(message)


async def count_tokens(provider: ProviderState, request: ReceivedRequest, _: re.Match[str]) -> RouteResponse:
    dialogue = _read_dialogue(provider, read_body(request), COUNT_TOKENS)
    return RouteResponse({"input_tokens": tokens_in(dialogue)})


def _blocks(provider: ProviderState, answer: Answer, body: Any) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    thinks = (body.get("thinking") or {}).get("type") in ("enabled", "adaptive")
    if thinks and answer.reasoning:
        seal = provider.issued.seal(answer.reasoning)
        blocks.append({"type": "thinking", "thinking": answer.reasoning, "signature": seal})
    if answer.text or answer.refusal:
        blocks.append({"type": "text", "text": answer.content or answer.refusal})
    for call_id, call in provider.issue_calls(answer, "toolu_"):
        blocks.append({"type": "tool_use", "id": call_id, "name": call.name, "input": json.loads(call.text)})
    return blocks


def _usage(prompt: int, output: int) -> dict[str, Any]:
    return {
        "input_tokens": prompt,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "output_tokens": output,
        "service_tier": "standard",
    }


def _stream_events(message: dict[str, Any], answer: Answer) -> Iterator[bytes]:
    events = map(named_event, _list_events(message))
    if answer.error is None:
        return events
    return break_off(events, answer.pieces, named_event(answer.error.anthropic_body()))


def _list_events(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    begun = {**message["usage"], "output_tokens": 1}
    yield {
        "type": "message_start",
        "message": message | {"content": [], "stop_reason": None, "usage": begun},
    }
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


_BLOCKS = {
    "user": {"text", "image", "document", "search_result", "tool_result"},
    "assistant": {"text", "tool_use", "thinking", "redacted_thinking"},
    "system": {"text"},
}
_WITHOUT_RESULT = (
    "messages.{}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each "
    "`tool_use` block must have a corresponding `tool_result` block in the next message."
)
_UNEXPECTED = (
    "messages.{}.content.{}: unexpected `tool_use_id` found in `tool_result` blocks: {}. Each `tool_result` "
    "block must have a corresponding `tool_use` block in the previous message."
)


def _read_dialogue(provider: ProviderState, body: Any, members: frozenset[str]) -> Dialogue:
    provider.check_members(body, members, "{}: Extra inputs are not permitted")
    refuse(not isinstance(body.get("model"), str), "model: Field required")
    refuse(not isinstance(body.get("messages"), list), "messages: Field required")
    refuse(not body["messages"], "messages: at least one message is required")
    if "max_tokens" in members:
        refuse(not isinstance(body.get("max_tokens"), int), "max_tokens: Field required")
    _cache_markers(body)
    # Where thinking is adaptive, the model may have thought of nothing.
    thinking = (body.get("thinking") or {}).get("type") == "enabled"
    tools = _tools(body)
    system = [MessageItem("system", text) for text in _system(body.get("system"))]
    items = _items(_combine_turns(body["messages"]), provider.issued, thinking)
    form = (body.get("output_config") or {}).get("format") or {}
    choice = body.get("tool_choice") or {}
    refuse(
        choice.get("type") == "tool" and choice.get("name") not in {tool.name for tool in tools},
        f"tool_choice: Tool '{choice.get('name')}' not found in provided tools",
    )
    return Dialogue(
        (*system, *items),
        tools,
        form.get("schema"),
        choice.get("name"),
        not choice.get("disable_parallel_tool_use"),
        body,
    )


def _combine_turns(messages: list[Any]) -> list[tuple[int, str, list[Any]]]:
    """Messages as (number, role, blocks): consecutive ones of one role count as one."""
    combined: list[tuple[int, str, list[Any]]] = []
    for number, message in enumerate(messages):
        role, content = message.get("role"), message.get("content")
        refuse(
            role not in _BLOCKS,
            f"messages: Unexpected role \"{role}\". Allowed roles are 'user', 'assistant' or 'system'",
        )
        refuse(
            not isinstance(content, str | list), f"messages.{number}.content: Input should be a valid string"
        )
        check_members(message, frozenset({"role", "content"}), f"messages.{number}.{{}}: Extra inputs")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        last = number == len(messages) - 1 and role == "assistant"
        refuse(not blocks and not last, f"messages.{number}: all messages must have non-empty content")
        if combined and combined[-1][1] == role:
            combined[-1][2].extend(blocks)
        else:
            combined.append((number, role, list(blocks)))
    refuse(combined[0][1] != "user", 'messages: first message must use the "user" role')
    return combined


def _items(messages: list[tuple[int, str, list[Any]]], issued: Issued, thinking: bool) -> list[Item]:
    items: list[Item] = []
    waiting: list[str] = []
    made: set[str] = set()
    for number, role, blocks in messages:
        if role == "user":
            answered = _results(number, blocks, waiting)
            refuse(set(answered) != set(waiting), _WITHOUT_RESULT.format(number - 1, ", ".join(waiting)))
        waiting = [block["id"] for block in blocks if block.get("type") == "tool_use"]
        refuse(
            bool(made & set(waiting)) or len(set(waiting)) < len(waiting),
            f"messages.{number}.content: `tool_use` ids must be unique",
        )
        made |= set(waiting)
        _check_thinking_first(number, blocks, waiting, thinking and number > 0)
        for position, block in enumerate(blocks):
            items += _read(block, role, f"messages.{number}.content.{position}", issued)
    refuse(bool(waiting), _WITHOUT_RESULT.format(messages[-1][0], ", ".join(waiting)))
    return items


def _results(number: int, blocks: list[Any], waiting: list[str]) -> list[str]:
    answered: list[str] = []
    for position, block in enumerate(blocks):
        if block.get("type") != "tool_result":
            continue
        call_id = block.get("tool_use_id")
        refuse(call_id not in waiting, _UNEXPECTED.format(number, position, call_id))
        refuse(
            call_id in answered,
            f"messages.{number}.content.{position}: each tool_use must have a single result. Found multiple "
            f"`tool_result` blocks with id: {call_id}",
        )
        refuse(len(answered) < position, _WITHOUT_RESULT.format(number - 1, call_id))
        answered.append(call_id)
    return answered


def _check_thinking_first(number: int, blocks: list[Any], calls: list[str], thinking: bool) -> None:
    first = blocks[0].get("type") if blocks else None
    refuse(
        thinking and bool(calls) and first not in ("thinking", "redacted_thinking"),
        f"messages.{number}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{first}`.",
    )


def _read(block: Any, role: str, where: str, issued: Issued) -> list[Item]:
    kind = block.get("type")
    refuse(
        kind not in _BLOCKS[role],
        f"{where}: Input tag '{kind}' found using 'type' does not match any of the expected tags",
    )
    if kind == "text":
        refuse(not block.get("text"), f"{where}: text content blocks must be non-empty")
        return [MessageItem(role, block["text"])]
    if kind == "tool_use":
        refuse(not isinstance(block.get("input"), dict), f"{where}.tool_use.input: Input should be an object")
        return [CallItem(block["id"], block["name"], json.dumps(block["input"]))]
    if kind == "tool_result":
        return [ResultItem(block["tool_use_id"], _result(block.get("content"), where))]
    if kind == "thinking":
        refuse(
            not issued.is_seal_of(block.get("thinking"), block.get("signature")),
            f"{where}: Invalid `signature` in `thinking` block",
        )
    return []


def _result(content: Any, where: str) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    for position, block in enumerate(content):
        refuse(
            block.get("type") not in ("text", "image", "search_result", "document"),
            f"{where}.tool_result.content.{position}: Input tag '{block.get('type')}' does not match",
        )
    return "".join(block["text"] for block in content if block["type"] == "text")


def _system(system: Any) -> list[str]:
    if system is None or isinstance(system, str):
        return [system] if system else []
    for position, block in enumerate(system):
        refuse(block.get("type") != "text", f"system.{position}.type: Input should be 'text'")
        refuse(not block.get("text"), "system: text content blocks must be non-empty")
    return [block["text"] for block in system]


def _tools(body: Any) -> tuple[DeclaredTool, ...]:
    declared = body.get("tools") or []
    tools = tuple(
        anthropic_tool(tool, f"tools.{number}")
        for number, tool in enumerate(declared)
        if tool.get("type", "custom") in (None, "custom")
    )
    refuse(len({tool.name for tool in tools}) < len(tools), "tools: Tool names must be unique.")
    return tools


def _cache_markers(body: Any) -> None:
    blocks = list(body.get("tools") or [])
    if isinstance(body.get("system"), list):
        blocks += body["system"]
    for message in body["messages"]:
        if isinstance(message.get("content"), list):
            blocks += message["content"]
    count = sum(1 for block in blocks if block.get("cache_control"))
    refuse(count > 4, f"A maximum of 4 blocks with cache_control may be provided. Found {count}.")
