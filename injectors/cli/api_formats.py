"""Conversations of OpenAI's Responses and Anthropic's Messages as chat messages: one view of all three.

Only what operators see is carried over, and what a reader wants to see: who says what, calls and results.
What agents put between `<system-reminder>` marks is left out, as gateways leave it alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Message = dict[str, Any]

_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_BLOCKS = ("tool_use", "tool_result", "thinking")


def chat_document(document: Any) -> Any:
    """The document as chat messages with chat's tools, where it is one of the other two shapes; else as it
    is."""
    body = document if isinstance(document, Mapping) else {}
    said = body.get("input") if "messages" not in body else None
    if said is None and isinstance(document, list) and any(_is_item(one) for one in document):
        said = document
    if said is not None:
        items = [{"role": "user", "content": said}] if isinstance(said, str) else said
        messages = list(_of_items(items)) if isinstance(items, list) else items
        return _with_tools(body, _system(body.get("instructions")), messages, "parameters")
    messages = body.get("messages") if body else document
    if isinstance(messages, list) and (_is_anthropic(body) or any(map(_has_blocks, messages))):
        told = [one for message in messages for one in _of_blocks(message)]
        return _with_tools(body, _system(body.get("system")), told, "input_schema")
    return document


def _with_tools(body: Mapping[str, Any], system: list[Message], messages: Any, parameters: str) -> Any:
    declared = body.get("tools") or []
    if not isinstance(messages, list) or not isinstance(declared, list):
        return {"messages": messages, "tools": declared}
    tools = [_tool(tool, parameters) for tool in declared if isinstance(tool, Mapping)]
    return {"messages": [*system, *messages], "tools": tools}


def _tool(tool: Mapping[str, Any], parameters: str) -> Mapping[str, Any]:
    """The client's own tool as chat has it; one of another kind, without what would make it a function."""
    if not isinstance(tool.get("name"), str) or not _is_own(tool, parameters):
        return {name: value for name, value in tool.items() if name != "function"}
    function = {
        "name": tool["name"],
        "description": tool.get("description"),
        "parameters": tool.get(parameters),
    }
    return {"type": "function", "function": function}


def _is_own(tool: Mapping[str, Any], parameters: str) -> bool:
    """Whether it is the client's own; the provider's tools have another type."""
    kinds = ("function",) if parameters == "parameters" else (None, "custom")
    return tool.get("type") in kinds


def _system(content: Any) -> list[Message]:
    return [{"role": "system", "content": content}] if content else []


def _is_item(one: Any) -> bool:
    return isinstance(one, Mapping) and one.get("type") in (*_CALLS, *_OUTPUTS, "message", "reasoning")


def _of_items(items: Sequence[Any]) -> Iterator[Any]:
    """The items of `input`. What one answer holds (reasoning, text, calls) is one message of the policy's."""
    answer: Message | None = None
    for item in items:
        kind = _kind(item)
        if kind in _CALLS:
            answer = answer or {"role": "assistant", "content": None}
            function = {"name": item.get("name"), "arguments": item.get(_CALLS[kind])}
            call = {"id": item.get("call_id"), "type": "function", "function": function}
            answer.setdefault("tool_calls", []).append(call)
            continue
        if kind == "message" and item.get("role") == "assistant":
            answer = answer or {"role": "assistant", "content": None}
            answer["content"] = [*(answer["content"] or []), *_parts(item.get("content"))]
            continue
        if kind == "":
            yield item
        if kind not in (*_OUTPUTS, "message"):
            continue  # Reasoning, references, the provider's own tools.
        if answer is not None:
            yield answer
            answer = None
        if kind in _OUTPUTS:
            said = item.get("output")
            yield {"role": "tool", "tool_call_id": item.get("call_id"), "content": _plain(said)}
        else:
            yield {**item, "content": _plain(item.get("content"))}
    if answer is not None:
        yield answer


def _kind(item: Any) -> str:
    """Messages and references may come without a type."""
    if not isinstance(item, Mapping):
        return ""
    kind = item.get("type")
    if kind is None:
        return "message" if "role" in item else "item_reference"
    return kind if isinstance(kind, str) else "unknown"


def _plain(content: Any) -> Any:
    return content if isinstance(content, str) else _parts(content)


def _parts(content: Any) -> list[Any]:
    """The parts as chat has them: texts of another type are texts."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [
        {"type": "text", "text": part["text"]}
        if isinstance(part, Mapping) and part.get("type") in ("input_text", "output_text")
        else part
        for part in (content if isinstance(content, list) else [])
    ]


def _is_anthropic(body: Mapping[str, Any]) -> bool:
    tools = body.get("tools")
    listed = tools if isinstance(tools, list) else []
    return "system" in body or any(isinstance(one, Mapping) and "input_schema" in one for one in listed)


def _has_blocks(message: Any) -> bool:
    content = message.get("content") if isinstance(message, Mapping) else None
    blocks = content if isinstance(content, list) else []
    return any(isinstance(one, Mapping) and one.get("type") in _BLOCKS for one in blocks)


def _of_blocks(message: Any) -> Iterator[Any]:
    """One message of Messages: results of tools are messages of their own in chat."""
    content = message.get("content") if isinstance(message, Mapping) else None
    if not isinstance(message, Mapping) or message.get("role") not in ("user", "assistant"):
        yield message
        return
    if message["role"] == "assistant":
        yield _answer(content)
        return
    rest: list[Any] = []
    for block in content if isinstance(content, list) else _parts(content):
        if isinstance(block, Mapping) and block.get("type") == "tool_result":
            said = [] if block.get("is_error") is True else block.get("content")
            yield {"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": _own_words(said)}
        else:
            rest += _own_words([block])
    if rest:
        yield {"role": "user", "content": rest}


def _own_words(content: Any) -> list[Any]:
    """The parts, with texts in as many pieces as reminders part them into, and none that is a reminder."""
    out: list[Any] = []
    for part in _parts(content):
        text = part.get("text") if isinstance(part, Mapping) and part.get("type") == "text" else None
        if not isinstance(text, str) or not _REMINDER.search(text):
            out.append(part)
            continue
        out += [{"type": "text", "text": one.strip()} for one in _REMINDER.split(text) if one.strip()]
    return out


def _answer(content: Any) -> Message:
    blocks = [one for one in (content if isinstance(content, list) else []) if isinstance(one, Mapping)]
    texts = [one for one in blocks if one.get("type") == "text"]
    calls = [
        {
            "id": one.get("id"),
            "type": "function",
            "function": {"name": one.get("name"), "arguments": _written(one.get("input", {}))},
        }
        for one in blocks
        if one.get("type") == "tool_use"
    ]
    answer: Message = {"role": "assistant", "content": content if isinstance(content, str) else texts}
    return {**answer, "tool_calls": calls} if calls else answer


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
