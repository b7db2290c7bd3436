"""A Chat Completions request, read and refused as its provider does."""

from __future__ import annotations

from typing import Any

from tests.clients.upstream import members
from tests.clients.upstream.dialogue import Asked, Dialogue, Given, Item, Said, Tool
from tests.clients.upstream.refusals import known_members, refuse
from tests.clients.upstream.tool_schemas import openai_tool, strict_schema

_PARTS = {
    "system": {"text"},
    "developer": {"text"},
    "tool": {"text"},
    "user": {"text", "image_url", "input_audio", "file"},
    "assistant": {"text", "refusal"},
}
_LACKING = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
    "'tool_call_id'. The following tool_call_ids did not have response messages: {}"
)


def read(body: Any) -> Dialogue:
    """The dialogue of a request. Refused for whatever the provider refuses."""
    refuse(not isinstance(body, dict), "We could not parse the JSON body of your request.")
    known_members(body, members.CHAT, "Unrecognized request argument supplied: {}")
    refuse(not isinstance(body.get("model"), str), "you must provide a model parameter")
    refuse(not body.get("messages"), "Missing required parameter: 'messages'.", "messages")
    refuse(
        "stream_options" in body and body["stream_options"] is not None and not body.get("stream"),
        "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        "stream_options",
    )
    count = body.get("n") or 1
    refuse(not isinstance(count, int) or not 1 <= count <= 128, "Invalid value for 'n'.", "n")
    tools = _tools(body)
    return Dialogue(
        tuple(_items(body["messages"])),
        tools,
        _schema(body.get("response_format")),
        _forced(body.get("tool_choice"), tools),
        body.get("parallel_tool_calls") is not False,
    )


def _items(messages: list[Any]) -> list[Item]:
    items: list[Item] = []
    waiting: list[str] = []
    for number, message in enumerate(messages):
        where = f"messages[{number}]"
        role = message.get("role")
        refuse(role not in _PARTS, f"Invalid value: '{role}'.", f"{where}.role", "invalid_value")
        if role == "tool":
            call_id = message.get("tool_call_id")
            refuse(
                call_id not in waiting,
                f"Invalid parameter: messages with role 'tool' must be a response to a preceeding message "
                f"with 'tool_calls'. tool_call_id '{call_id}'",
                f"{where}.role",
            )
            waiting.remove(call_id)
            items.append(Given(call_id, "".join(_texts(message, where))))
            continue
        refuse(bool(waiting), _LACKING.format(", ".join(waiting)), where)
        items += [Said(role, text) for text in _texts(message, where)]
        calls = message.get("tool_calls") or []
        refuse(
            "tool_calls" in message and message["tool_calls"] == [],
            f"Invalid '{where}.tool_calls': empty array. Expected an array with minimum length 1.",
            f"{where}.tool_calls",
            "empty_array",
        )
        for call in calls:
            items.append(_asked(call, f"{where}.tool_calls"))
            waiting.append(call["id"])
    refuse(bool(waiting), _LACKING.format(", ".join(waiting)), f"messages[{len(messages) - 1}]")
    return items


def _asked(call: Any, where: str) -> Asked:
    function = call.get("function") or {}
    refuse(call.get("type") != "function", f"Missing required parameter: '{where}.type'.", where)
    refuse(not isinstance(call.get("id"), str), f"Missing required parameter: '{where}.id'.", where)
    refuse(not isinstance(function.get("name"), str), f"Missing required parameter: '{where}.name'.", where)
    refuse(
        not isinstance(function.get("arguments"), str),
        f"Invalid type for '{where}.function.arguments': expected a string.",
        where,
        "invalid_type",
    )
    return Asked(call["id"], function["name"], function["arguments"])


def _texts(message: Any, where: str) -> list[str]:
    content, role = message.get("content"), message["role"]
    if isinstance(content, str):
        return [content]
    if content is None:
        refuse(
            role != "assistant" or not any(message.get(name) for name in ("tool_calls", "refusal", "audio")),
            f"Invalid value for 'content': expected a string, got null. ({where})",
            f"{where}.content",
        )
        return []
    refuse(not isinstance(content, list) or not content, f"Invalid '{where}.content'.", f"{where}.content")
    for part in content:
        refuse(
            part.get("type") not in _PARTS[role],
            f"Invalid value: '{part.get('type')}'. Supported values are: {sorted(_PARTS[role])}.",
            f"{where}.content",
            "invalid_value",
        )
    return [part["text"] for part in content if part["type"] == "text"]


def _tools(body: Any) -> tuple[Tool, ...]:
    declared = body.get("tools")
    refuse(declared == [], "Invalid 'tools': empty array. Expected minimum length 1.", "tools", "empty_array")
    refuse(
        "tool_choice" in body and not declared, "'tool_choice' is only allowed when 'tools' are specified."
    )
    for number, tool in enumerate(declared or ()):
        kind = tool.get("type")
        refuse(kind not in ("function", "custom"), f"Invalid value: '{kind}'.", f"tools[{number}].type")
    return tuple(
        openai_tool(tool.get("function"), f"tools[{number}].function")
        for number, tool in enumerate(declared or ())
        if tool["type"] == "function"
    )


def _forced(choice: Any, tools: tuple[Tool, ...]) -> str | None:
    if not isinstance(choice, dict):
        refuse(choice not in (None, "auto", "none", "required"), f"Invalid value: '{choice}'.", "tool_choice")
        return None
    name = (choice.get("function") or {}).get("name")
    refuse(
        choice.get("type") == "function" and name not in {tool.name for tool in tools},
        f"Invalid value for 'tool_choice': '{name}' is not one of the tools.",
        "tool_choice",
    )
    return name


def _schema(given: Any) -> dict[str, Any] | None:
    if not isinstance(given, dict) or given.get("type") != "json_schema":
        return None
    named = given.get("json_schema") or {}
    refuse(
        not isinstance(named.get("name"), str), "Missing required parameter: 'response_format.json_schema'."
    )
    if named.get("strict"):
        strict_schema(named["schema"], named["name"], "response_format")
    schema: dict[str, Any] = named["schema"]
    return schema
