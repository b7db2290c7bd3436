"""An Anthropic Messages request, read and refused as its provider does."""

from __future__ import annotations

import json
from typing import Any

from tests.clients.upstream.dialogue import Asked, Dialogue, Given, Item, Said, Tool
from tests.clients.upstream.produced import Produced
from tests.clients.upstream.refusals import known_members, refuse
from tests.clients.upstream.tool_schemas import anthropic_tool

_BLOCKS = {
    "user": {"text", "image", "document", "search_result", "tool_result"},
    "assistant": {"text", "tool_use", "thinking", "redacted_thinking"},
}
_WITHOUT_RESULT = (
    "messages.{}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each "
    "`tool_use` block must have a corresponding `tool_result` block in the next message."
)
_UNEXPECTED = (
    "messages.{}.content.{}: unexpected `tool_use_id` found in `tool_result` blocks: {}. Each `tool_result` "
    "block must have a corresponding `tool_use` block in the previous message."
)


def read(body: Any, produced: Produced, members: frozenset[str]) -> Dialogue:
    """The dialogue of a request. Refused for whatever the provider refuses."""
    refuse(not isinstance(body, dict), "The request body is not valid JSON")
    known_members(body, members, "{}: Extra inputs are not permitted")
    refuse(not isinstance(body.get("model"), str), "model: Field required")
    refuse(not isinstance(body.get("messages"), list), "messages: Field required")
    refuse(not body["messages"], "messages: at least one message is required")
    if "max_tokens" in members:
        refuse(not isinstance(body.get("max_tokens"), int), "max_tokens: Field required")
    _cache_markers(body)
    thinking = (body.get("thinking") or {}).get("type") in ("enabled", "adaptive")
    tools = _tools(body)
    system = [Said("system", text) for text in _system(body.get("system"))]
    items = _items(_combined(body["messages"]), produced, thinking)
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
    )


def _combined(messages: list[Any]) -> list[tuple[int, str, list[Any]]]:
    """Messages as (number, role, blocks): consecutive ones of one role count as one."""
    combined: list[tuple[int, str, list[Any]]] = []
    for number, message in enumerate(messages):
        role, content = message.get("role"), message.get("content")
        refuse(
            role not in _BLOCKS,
            f"messages: Unexpected role \"{role}\". Allowed roles are 'user' or 'assistant'",
        )
        refuse(
            not isinstance(content, str | list), f"messages.{number}.content: Input should be a valid string"
        )
        known_members(message, frozenset({"role", "content"}), f"messages.{number}.{{}}: Extra inputs")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        last = number == len(messages) - 1 and role == "assistant"
        refuse(not blocks and not last, f"messages.{number}: all messages must have non-empty content")
        if combined and combined[-1][1] == role:
            combined[-1][2].extend(blocks)
        else:
            combined.append((number, role, list(blocks)))
    refuse(combined[0][1] != "user", 'messages: first message must use the "user" role')
    return combined


def _items(messages: list[tuple[int, str, list[Any]]], produced: Produced, thinking: bool) -> list[Item]:
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
        _thinking_first(number, blocks, waiting, thinking and number > 0)
        for position, block in enumerate(blocks):
            items += _read(block, role, f"messages.{number}.content.{position}", produced)
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


def _thinking_first(number: int, blocks: list[Any], calls: list[str], thinking: bool) -> None:
    first = blocks[0].get("type") if blocks else None
    refuse(
        thinking and bool(calls) and first not in ("thinking", "redacted_thinking"),
        f"messages.{number}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{first}`.",
    )


def _read(block: Any, role: str, where: str, produced: Produced) -> list[Item]:
    kind = block.get("type")
    refuse(
        kind not in _BLOCKS[role],
        f"{where}: Input tag '{kind}' found using 'type' does not match any of the expected tags",
    )
    if kind == "text":
        refuse(not block.get("text"), f"{where}: text content blocks must be non-empty")
        return [Said(role, block["text"])]
    if kind == "tool_use":
        refuse(not isinstance(block.get("input"), dict), f"{where}.tool_use.input: Input should be an object")
        return [Asked(block["id"], block["name"], json.dumps(block["input"]))]
    if kind == "tool_result":
        return [Given(block["tool_use_id"], _result(block.get("content"), where))]
    if kind == "thinking":
        refuse(
            not produced.sealed(block.get("thinking"), block.get("signature")),
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


def _tools(body: Any) -> tuple[Tool, ...]:
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
