"""A Responses request, read and refused as its provider does."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from tests.clients.upstream import members
from tests.clients.upstream.dialogue import Asked, Dialogue, Given, Item, Said, Tool
from tests.clients.upstream.refusals import Refused, known_members, refuse
from tests.clients.upstream.stored import Stored
from tests.clients.upstream.tool_schemas import openai_tool, strict_schema

_CONTENT = {
    "user": {"input_text", "input_image", "input_file"},
    "system": {"input_text"},
    "developer": {"input_text"},
    "assistant": {"output_text", "refusal"},
}
_KINDS = {"message", "function_call", "function_call_output", "reasoning", "item_reference"}


def new_items(body: Any, stored: Stored, new_id: Callable[[str, object], str]) -> list[dict[str, Any]]:
    """The items of a request's input, whole and with ids: references resolved."""
    refuse(not isinstance(body, dict), "We could not parse the JSON body of your request.")
    known_members(body, members.RESPONSES, "Unknown parameter: '{}'.")
    refuse(not isinstance(body.get("model"), str), "Missing required parameter: 'model'.", "model")
    refuse("input" not in body, "Missing required parameter: 'input'.", "input")
    given = body["input"]
    if isinstance(given, str):
        given = [{"type": "message", "role": "user", "content": given}]
    items = []
    for number, item in enumerate(given):
        kind = item.get("type", "message")
        where = f"input[{number}]"
        refuse(kind not in _KINDS, f"Invalid value: '{kind}'.", f"{where}.type", "invalid_value")
        if kind == "item_reference":
            items.append(stored.item(item.get("id")))
            continue
        _checked(item, kind, where, stored)
        prefix = {"message": "msg_", "reasoning": "rs_", "function_call": "fc_"}.get(kind, "fco_")
        whole = {"id": new_id(prefix, f"in{number}"), "status": "completed", **item, "type": kind}
        if kind == "message":
            whole["content"] = _content(item, where)
        items.append(whole)
    return items


def _checked(item: dict[str, Any], kind: str, where: str, stored: Stored) -> None:
    if kind in ("function_call", "function_call_output"):
        refuse(not isinstance(item.get("call_id"), str), f"Missing required parameter: '{where}.call_id'.")
    if kind == "function_call":
        refuse(not isinstance(item.get("name"), str), f"Missing required parameter: '{where}.name'.")
        refuse(not isinstance(item.get("arguments"), str), f"Invalid type for '{where}.arguments'.")
    if kind == "function_call_output":
        refuse(not isinstance(item.get("output"), str | list), f"Invalid type for '{where}.output'.")
    if kind == "reasoning" and item.get("encrypted_content") is None:
        stored.item(item.get("id"))


def _content(item: dict[str, Any], where: str) -> list[dict[str, Any]]:
    role, content = item.get("role"), item.get("content")
    refuse(role not in _CONTENT, f"Invalid value: '{role}'.", f"{where}.role", "invalid_value")
    if isinstance(content, str):
        kind = "output_text" if role == "assistant" else "input_text"
        return [{"type": kind, "text": content}]
    refuse(not isinstance(content, list), f"Invalid type for '{where}.content'.", f"{where}.content")
    for part in content:
        refuse(
            part.get("type") not in _CONTENT[role],
            f"Invalid value: '{part.get('type')}'. Supported values are: {sorted(_CONTENT[role])}.",
            f"{where}.content",
            "invalid_value",
        )
    return [dict(part) for part in content]


def dialogue(body: Any, context: list[dict[str, Any]], stored: Stored) -> Dialogue:
    """What the policy reads: instructions and the whole context. Refused where a call or its result is
    missing, or a reasoning item is parted from what followed it.
    """
    _paired(context)
    _reasoned(context, stored)
    tools = _tools(body)
    instructions = [Said("system", body["instructions"])] if body.get("instructions") else []
    form = (body.get("text") or {}).get("format") or {}
    if form.get("strict"):
        strict_schema(form["schema"], form["name"], "text.format")
    choice = body.get("tool_choice")
    forced = choice.get("name") if isinstance(choice, dict) else None
    refuse(
        forced is not None and forced not in {tool.name for tool in tools},
        f"Tool choice '{forced}' not found in 'tools' parameter.",
        "tool_choice",
    )
    items = (*instructions, *itertools.chain.from_iterable(map(_read, context)))
    schema = form.get("schema") if form.get("type") == "json_schema" else None
    return Dialogue(items, tools, schema, forced, body.get("parallel_tool_calls") is not False)


def _paired(context: list[dict[str, Any]]) -> None:
    called: list[str] = []
    for item in context:
        if item["type"] == "function_call":
            called.append(item["call_id"])
        elif item["type"] == "function_call_output":
            call_id = item["call_id"]
            refuse(
                call_id not in called,
                f"No tool call found for function call output with call_id {call_id}.",
                "input",
            )
            called.remove(call_id)
    refuse(bool(called), f"No tool output found for function call {', '.join(called)}.", "input")
    ids = [item["id"] for item in context]
    twice = next((one for one in ids if ids.count(one) > 1), None)
    refuse(twice is not None, f"Duplicate item found with id {twice}. Remove duplicate items.", "input")


def _reasoned(context: list[dict[str, Any]], stored: Stored) -> None:
    ids = {item["id"] for item in context}
    for item, after in itertools.zip_longest(context, context[1:]):
        if item["type"] == "reasoning":
            refuse(
                after is None or stored.follows(after["id"]) not in (item["id"], None),
                f"Item '{item['id']}' of type 'reasoning' was provided without its required following item.",
                "input",
            )
            seal = item.get("encrypted_content")
            if seal is not None and not stored.is_sealed(seal):
                raise Refused(
                    400,
                    f"The encrypted content for item {item['id']} could not be verified.",
                    code="invalid_encrypted_content",
                )
        reasoning = stored.follows(item["id"])
        refuse(
            reasoning is not None and reasoning not in ids,
            f"Item '{item['id']}' of type '{item['type']}' was provided without its required 'reasoning' "
            f"item: '{reasoning}'.",
            "input",
        )


def _read(item: dict[str, Any]) -> list[Item]:
    if item["type"] == "message":
        return [Said(item["role"], part["text"]) for part in item["content"] if "text" in part]
    if item["type"] == "function_call":
        return [Asked(item["call_id"], item["name"], item["arguments"])]
    if item["type"] == "function_call_output":
        output = item["output"]
        if isinstance(output, list):
            output = "".join(part["text"] for part in output if part.get("type") == "input_text")
        return [Given(item["call_id"], output)]
    return []


def _tools(body: Any) -> tuple[Tool, ...]:
    return tuple(
        openai_tool(tool, f"tools[{number}]")
        for number, tool in enumerate(body.get("tools") or ())
        if tool.get("type") == "function"
    )
