"""Convert conversations of OpenAI's Responses and Anthropic's Messages into chat messages.

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


def to_chat(document: Any) -> Any:
    """The document as chat messages with chat's tools if it is in one of the other two forms."""
    body = document if isinstance(document, Mapping) else {}
    items = body.get("input") if "messages" not in body else None
    kinds = {str(one.get("type")) for one in _mappings(document)}
    if items is None and kinds.intersection((*_CALLS, *_OUTPUTS, "message", "reasoning")):
        items = document
    if items is not None:
        items = [{"role": "user", "content": items}] if isinstance(items, str) else items
        messages = list(_convert_items(items)) if isinstance(items, list) else items
        return _with_tools(body, body.get("instructions"), messages, "parameters")
    messages = body.get("messages") if body else document
    if isinstance(messages, list) and (_is_anthropic(body) or any(map(_has_blocks, messages))):
        told = [one for message in messages for one in _convert_blocks(message)]
        return _with_tools(body, body.get("system"), told, "input_schema")
    return document


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _with_tools(body: Mapping[str, Any], system: Any, messages: Any, parameters: str) -> Any:
    declared = body.get("tools") or []
    if not isinstance(messages, list) or not isinstance(declared, list):
        return {"messages": messages, "tools": declared}
    before = [{"role": "system", "content": system}] if system else []
    tools = [_convert_tool(tool, parameters) for tool in _mappings(declared)]
    return {"messages": [*before, *messages], "tools": tools}


def _convert_tool(tool: Mapping[str, Any], parameters: str) -> Mapping[str, Any]:
    """A tool of the client's own as chat has it; a provider's, without what would make it a function."""
    own_types = ("function",) if parameters == "parameters" else (None, "custom")
    if not isinstance(tool.get("name"), str) or tool.get("type") not in own_types:
        return {name: value for name, value in tool.items() if name != "function"}
    function = {"name": tool["name"], "description": tool.get("description")}
    return {"type": "function", "function": {**function, "parameters": tool.get(parameters)}}


def _convert_items(items: Sequence[Any]) -> Iterator[Any]:
    """The items of `input`. What one answer holds (reasoning, text, calls) is one message of the policy's."""
    answer: Message | None = None
    for item in items:
        kind = _item_type(item)
        if kind in _CALLS:
            answer = answer or {"role": "assistant", "content": None}
            call = _call(item.get("call_id"), item.get("name"), item.get(_CALLS[kind]))
            answer.setdefault("tool_calls", []).append(call)
        elif kind == "message" and item.get("role") == "assistant":
            answer = answer or {"role": "assistant", "content": None}
            answer["content"] = [*(answer["content"] or []), *_parts(item.get("content"))]
        elif kind in (*_OUTPUTS, "message"):
            if answer is not None:
                yield answer
            answer = None
            if kind in _OUTPUTS:
                output = _content(item.get("output"))
                yield {"role": "tool", "tool_call_id": item.get("call_id"), "content": output}
            else:
                yield {**item, "content": _content(item.get("content"))}
        elif kind == "":
            yield item  # What is no item at all is for the reader of messages to refuse.
    if answer is not None:
        yield answer


def _item_type(item: Any) -> str:
    """Messages and references may come without a type."""
    if not isinstance(item, Mapping):
        return ""
    kind = item.get("type")
    if kind is None:
        return "message" if "role" in item else "item_reference"
    return kind if isinstance(kind, str) else "unknown"


def _call(call_id: Any, name: Any, arguments: Any) -> Message:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _content(content: Any) -> Any:
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
    return "system" in body or any("input_schema" in tool for tool in _mappings(body.get("tools")))


def _has_blocks(message: Any) -> bool:
    blocks = _mappings(message.get("content")) if isinstance(message, Mapping) else []
    return any(block.get("type") in _BLOCKS for block in blocks)


def _convert_blocks(message: Any) -> Iterator[Any]:
    """One message of Messages: results of tools are messages of their own in chat."""
    if not isinstance(message, Mapping) or message.get("role") not in ("user", "assistant"):
        yield message
        return
    content = message.get("content")
    if message["role"] == "assistant":
        yield _convert_answer(content)
        return
    rest: list[Any] = []
    for block in content if isinstance(content, list) else _parts(content):
        if isinstance(block, Mapping) and block.get("type") == "tool_result":
            said = _without_reminders([] if block.get("is_error") is True else block.get("content"))
            yield {"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": said}
        else:
            rest += _without_reminders([block])
    if rest:
        yield {"role": "user", "content": rest}


def _without_reminders(content: Any) -> list[Any]:
    """The parts, with texts in as many pieces as reminders part them into, and none that is a reminder."""
    out: list[Any] = []
    for part in _parts(content):
        text = part.get("text") if isinstance(part, Mapping) and part.get("type") == "text" else None
        if isinstance(text, str) and _REMINDER.search(text):
            out += [{"type": "text", "text": one.strip()} for one in _REMINDER.split(text) if one.strip()]
        else:
            out.append(part)
    return out


def _convert_answer(content: Any) -> Message:
    blocks = _mappings(content)
    texts = [one for one in blocks if one.get("type") == "text"]
    calls = [
        _call(one.get("id"), one.get("name"), _compact(one.get("input", {})))
        for one in blocks
        if one.get("type") == "tool_use"
    ]
    answer: Message = {"role": "assistant", "content": content if isinstance(content, str) else texts}
    return {**answer, "tool_calls": calls} if calls else answer


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
