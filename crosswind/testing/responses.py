"""Responses: the request as its provider reads or refuses it, the answer plain and as a stream."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterator
from typing import Any

from crosswind.testing.checks import RESPONSES, check_strict, openai_tool, read_body
from crosswind.testing.dialogue import (
    Answer,
    CallItem,
    DeclaredTool,
    Dialogue,
    Item,
    MessageItem,
    ResultItem,
    usage_tokens,
)
from crosswind.testing.errors import ProviderError, refuse
from crosswind.testing.memory import Stored
from crosswind.testing.replies import CREATED, ReceivedRequest, RouteResponse, break_off, named_event
from crosswind.testing.response_events import events
from crosswind.testing.state import ProviderState


async def create(provider: ProviderState, request: ReceivedRequest, _: re.Match[str]) -> RouteResponse:
    body = read_body(request)
    provider.check_members(body, RESPONSES, "Unknown parameter: '{}'.")
    items = _new_items(body, provider.stored, provider.new_id)
    context = [*provider.stored.before(body.get("previous_response_id")), *items]
    dialogue = _read_dialogue(provider, body, context)
    answer = await provider.answer(dialogue)
    output = _output(provider, answer, body)
    provider.stored.remember(output)
    response = _response(provider, body, answer) | {
        "status": "completed",
        "completed_at": CREATED,
        "output": output,
        "usage": _usage(dialogue, answer),
    }
    if body.get("store") is not False:
        provider.stored.keep(response, context)
    if body.get("stream"):
        return RouteResponse(events=_stream_events(response, answer))
    return RouteResponse(response)


def _stream_events(response: dict[str, Any], answer: Answer) -> Iterator[bytes]:
    stream = map(named_event, events(response))
    if answer.error is None:
        return stream
    failure = {"code": "server_error", "message": answer.error.message}
    failed = response | {"status": "failed", "output": [], "usage": None, "error": failure}
    last = {"type": "response.failed", "sequence_number": answer.pieces, "response": failed}
    return break_off(stream, answer.pieces, named_event(last))


def _response(provider: ProviderState, body: Any, answer: Answer) -> dict[str, Any]:
    """A response but for what it says: the request's settings told back."""
    return {
        "id": provider.new_id("resp_"),
        "object": "response",
        "created_at": CREATED,
        "background": False,
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "metadata": body.get("metadata") or {},
        "model": body["model"],
        "parallel_tool_calls": body.get("parallel_tool_calls") is not False,
        "previous_response_id": body.get("previous_response_id"),
        "reasoning": {"effort": None, "summary": None, **(body.get("reasoning") or {})},
        "service_tier": "default",
        "temperature": 1.0,
        "text": {"verbosity": "medium", "format": {"type": "text"}, **(body.get("text") or {})},
        "tool_choice": body.get("tool_choice") or "auto",
        "tools": [_show_tool(tool) for tool in body.get("tools") or ()],
        "top_logprobs": 0,
        "top_p": 1.0,
        "truncation": "disabled",
        "user": None,
        **answer.more,
    }


def _show_tool(tool: dict[str, Any]) -> dict[str, Any]:
    if tool.get("type") != "function":
        return tool
    return {"description": None, "strict": True, "parameters": None, **tool}


def _output(provider: ProviderState, answer: Answer, body: Any) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if answer.reasoning and body.get("reasoning"):
        item: dict[str, Any] = {"id": provider.new_id("rs_"), "type": "reasoning"}
        item["summary"] = [{"type": "summary_text", "text": answer.reasoning}]
        if "reasoning.encrypted_content" in (body.get("include") or ()):
            item["encrypted_content"] = provider.issued.seal(answer.reasoning)
        items.append(item)
    if answer.text or answer.refusal:
        part: dict[str, Any] = (
            {"type": "output_text", "text": answer.content, "annotations": [], "logprobs": []}
            if answer.text
            else {"type": "refusal", "refusal": answer.refusal}
        )
        head = {"id": provider.new_id("msg_"), "type": "message", "status": "completed"}
        items.append(head | {"role": "assistant", "content": [part]})
    for number, (call_id, call) in enumerate(provider.issue_calls(answer, "call_")):
        head = {"id": provider.new_id("fc_", number), "type": "function_call", "status": "completed"}
        items.append(head | {"call_id": call_id, "name": call.name, "arguments": call.text})
    return items


def _usage(dialogue: Dialogue, answer: Answer) -> dict[str, Any]:
    given, made = usage_tokens(dialogue, answer)
    return {
        "input_tokens": given,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": made,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": given + made,
    }


_CONTENT = {
    "user": {"input_text", "input_image", "input_file"},
    "system": {"input_text"},
    "developer": {"input_text"},
    "assistant": {"output_text", "refusal"},
}
_KINDS = {"message", "function_call", "function_call_output", "reasoning", "item_reference"}


def _new_items(body: Any, stored: Stored, new_id: Callable[[str, object], str]) -> list[dict[str, Any]]:
    """The items of a request's input, whole and with ids: references resolved."""
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
        _check_item(item, kind, where, stored)
        prefix = {"message": "msg_", "reasoning": "rs_", "function_call": "fc_"}.get(kind, "fco_")
        whole = {"id": new_id(prefix, f"in{number}"), "status": "completed", **item, "type": kind}
        if kind == "message":
            whole["content"] = _content(item, where)
        items.append(whole)
    return items


def _check_item(item: dict[str, Any], kind: str, where: str, stored: Stored) -> None:
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
    role: Any = item.get("role")
    content: Any = item.get("content")
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


def _read_dialogue(provider: ProviderState, body: Any, context: list[dict[str, Any]]) -> Dialogue:
    """Instructions and the whole context. Refused where a call or its result is missing, or a reasoning item
    without the item that followed it."""
    _check_pairs(context)
    _check_reasoning(context, provider.stored, provider.issued.seals)
    tools = _tools(body)
    instructions = [MessageItem("system", body["instructions"])] if body.get("instructions") else []
    form = (body.get("text") or {}).get("format") or {}
    if form.get("strict"):
        check_strict(form["schema"], f"Invalid schema for response_format '{form['name']}'", "text.format")
    choice = body.get("tool_choice")
    forced = choice.get("name") if isinstance(choice, dict) else None
    refuse(
        forced is not None and forced not in {tool.name for tool in tools},
        f"Tool choice '{forced}' not found in 'tools' parameter.",
        "tool_choice",
    )
    items = (*instructions, *itertools.chain.from_iterable(map(_read, context)))
    schema = form.get("schema") if form.get("type") == "json_schema" else None
    return Dialogue(items, tools, schema, forced, body.get("parallel_tool_calls") is not False, body)


def _check_pairs(context: list[dict[str, Any]]) -> None:
    called: list[str] = []
    for item in context:
        if item["type"] == "function_call":
            refuse(item["call_id"] in called, f"Duplicate call id {item['call_id']}.", "input")
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


def _check_reasoning(context: list[dict[str, Any]], stored: Stored, seals: Collection[str]) -> None:
    ids = {item["id"] for item in context}
    for item, after in itertools.zip_longest(context, context[1:]):
        if item["type"] == "reasoning":
            refuse(
                after is None or stored.follows.get(after["id"]) not in (item["id"], None),
                f"Item '{item['id']}' of type 'reasoning' was provided without its required following item.",
                "input",
            )
            seal = item.get("encrypted_content")
            if seal is not None and seal not in seals:
                raise ProviderError(
                    400,
                    f"The encrypted content for item {item['id']} could not be verified.",
                    code="invalid_encrypted_content",
                )
        reasoning = stored.follows.get(item["id"])
        refuse(
            reasoning is not None and reasoning not in ids,
            f"Item '{item['id']}' of type '{item['type']}' was provided without its required 'reasoning' "
            f"item: '{reasoning}'.",
            "input",
        )


def _read(item: dict[str, Any]) -> list[Item]:
    if item["type"] == "message":
        return [MessageItem(item["role"], part["text"]) for part in item["content"] if "text" in part]
    if item["type"] == "function_call":
        return [CallItem(item["call_id"], item["name"], item["arguments"])]
    if item["type"] == "function_call_output":
        output = item["output"]
        if isinstance(output, list):
            output = "".join(part["text"] for part in output if part.get("type") == "input_text")
        return [ResultItem(item["call_id"], output)]
    return []


def _tools(body: Any) -> tuple[DeclaredTool, ...]:
    return tuple(
        openai_tool(tool, f"tools[{number}]")
        for number, tool in enumerate(body.get("tools") or ())
        if tool.get("type") == "function"
    )
