"""A conversation as people keep it in a file: OpenAI chat messages, alone or as a request body with its
tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

from injectors.conversation import (
    Conversation,
    InstructionText,
    Ref,
    Site,
    ToolCall,
    ToolResult,
    ToolSchema,
    UserText,
)
from injectors.identity import call_anchor, logical_call, text_anchor

Message = Mapping[str, Any]


class DocumentError(ValueError):
    """The file is no list of chat messages; the message names the place and the mend."""


def messages_and_tools(document: Any) -> tuple[list[Message], list[Mapping[str, Any]]]:
    """The messages and tools of a JSON document: a list of messages, or an object with `messages` and
    `tools`."""
    tools: Any = []
    messages = document
    if isinstance(document, Mapping):
        messages, tools = document.get("messages"), document.get("tools") or []
    if not isinstance(messages, list):
        raise DocumentError("expected a list of chat messages, or an object with a list `messages`")
    for at, message in enumerate(messages):
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            raise DocumentError(
                f"messages[{at}] is no object with a `role`: write {{'role': 'user', ...}}, say"
            )
    if not isinstance(tools, list):
        raise DocumentError(
            f"`tools` is no list, but {type(tools).__name__}: write [{{'type': 'function', ...}}]"
        )
    return messages, tools


def conversation(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> Conversation:
    """The view that operators see of OpenAI chat messages. What has no text or answers no call is left
    out."""
    items: list[UserText | ToolResult] = []
    calls: dict[str, ToolCall] = {}
    counted: Counter[str] = Counter()
    ordinals: Counter[str] = Counter()
    for at, message in enumerate(messages):
        role = message["role"]
        if role == "assistant":
            calls.update({call.call_id: call for call in _calls(message)})
            continue
        call = calls.get(str(message.get("tool_call_id"))) if role == "tool" else None
        if role != "user" and call is None:
            continue
        for ref, text in _texts(at, message.get("content")):
            if call is None:
                anchor = _anchor(counted, text_anchor(Site.USER_TEXT, text, 0))
                items.append(UserText(ref, text, anchor, ordinals[role]))
            else:
                anchor = _anchor(counted, call_anchor(call.call_id, 0))
                logical = logical_call(call.name, call.arguments)
                items.append(ToolResult(ref, text, anchor, ordinals[role], call, logical))
        ordinals[role] += 1
    return Conversation(tuple(items), tuple(_schemas(tools)))


def instructions(messages: Sequence[Message]) -> InstructionText | None:
    """The system prompt, where the messages begin with one."""
    first = messages[0] if messages else {}
    if first.get("role") not in ("system", "developer"):
        return None
    texts = ((ref, text) for ref, text in _texts(0, first.get("content")) if text.strip())
    found = next(texts, None)
    if found is None:
        return None
    ref, text = found
    return InstructionText(ref, text, text_anchor(Site.INSTRUCTIONS, text, 0), 0)


def replaced(messages: Sequence[Message], replacements: Mapping[Ref, str]) -> list[dict[str, Any]]:
    """The messages with the texts of `Perturbed.replacements` in their places. The originals aren't
    changed."""
    out: list[dict[str, Any]] = [deepcopy(dict(message)) for message in messages]
    for ref, text in replacements.items():
        if ref.part is None:
            out[ref.message]["content"] = text
        else:
            out[ref.message]["content"][ref.part]["text"] = text
    return out


def _anchor(counted: Counter[str], first: str) -> str:
    """The anchor with its occurrence among equal ones."""
    occurrence = counted[first]
    counted[first] += 1
    return f"{first.rpartition('#')[0]}#{occurrence}"


def _calls(message: Message) -> Iterator[ToolCall]:
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        if isinstance(function.get("name"), str):
            yield ToolCall(str(call.get("id")), function["name"], str(function.get("arguments") or ""))


def _texts(at: int, content: Any) -> Iterator[tuple[Ref, str]]:
    if isinstance(content, str):
        yield Ref(at), content
    elif isinstance(content, list):
        for number, part in enumerate(content):
            if isinstance(part, Mapping) and isinstance(part.get("text"), str):
                yield Ref(at, number), part["text"]


def _schemas(tools: Sequence[Mapping[str, Any]]) -> Iterator[ToolSchema]:
    for tool in tools:
        function = tool.get("function") if isinstance(tool, Mapping) else None
        if isinstance(function, Mapping) and isinstance(function.get("name"), str):
            parameters = function.get("parameters")
            yield ToolSchema(
                function["name"],
                str(function.get("description") or ""),
                parameters if isinstance(parameters, Mapping) else {},
            )
