"""Chat Completions: the request as its provider reads or refuses it, the answer plain and as a stream."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any

from crosswind.testing.checks import CHAT, check_strict, openai_tool, read_body
from crosswind.testing.dialogue import (
    Answer,
    CallItem,
    DeclaredTool,
    Dialogue,
    Item,
    MessageItem,
    ResultItem,
    fragments,
    usage_tokens,
    words,
)
from crosswind.testing.errors import refuse
from crosswind.testing.replies import CREATED, DONE, ReceivedRequest, RouteResponse, data_event
from crosswind.testing.state import ProviderState

_HEAD = {"created": CREATED, "service_tier": "default", "system_fingerprint": "fp_scripted"}


async def create(provider: ProviderState, request: ReceivedRequest, _: re.Match[str]) -> RouteResponse:
    body = read_body(request)
    provider.check_members(body, CHAT, "Unrecognized request argument supplied: {}")
    dialogue = _read_dialogue(body)
    answer = await provider.answer(dialogue)
    calls = _issue_calls(provider, answer)
    head = {"id": provider.new_id("chatcmpl-"), "model": body["model"], **_HEAD}
    if answer.sampled and body.get("return_token_ids"):
        head["prompt_token_ids"] = answer.sampled.prompt_token_ids
    count = body.get("n") or 1
    usage = _usage(dialogue, answer, count)
    if body.get("stream"):
        return RouteResponse(events=_stream_events(provider, body, head, answer, calls, usage))
    choices = [
        {
            "index": index,
            "message": _message(answer, calls),
            "logprobs": _logprobs(body, answer.words, answer.sampled.logprobs if answer.sampled else None),
            "finish_reason": _finish_reason(calls),
            **_tokens(body, answer),
            **answer.choice,
        }
        for index in range(count)
    ]
    whole = {"object": "chat.completion", **head, "choices": choices, "usage": usage, **answer.more}
    return RouteResponse(whole)


def _issue_calls(provider: ProviderState, answer: Answer) -> list[dict[str, Any]]:
    return [
        {"id": call_id, "type": "function", "function": {"name": call.name, "arguments": call.text}}
        for call_id, call in provider.issue_calls(answer, "call_")
    ]


def _usage(dialogue: Dialogue, answer: Answer, count: int) -> dict[str, Any]:
    prompt, completion = usage_tokens(dialogue, answer)
    completion *= count
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": 0,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def _message(answer: Answer, calls: list[dict[str, Any]]) -> dict[str, Any]:
    message: dict[str, Any] = {
        "role": "assistant",
        "content": answer.content,
        "refusal": answer.refusal,
        "annotations": [],
    }
    return message | ({"tool_calls": calls} if calls else {})


def _finish_reason(calls: list[dict[str, Any]]) -> str:
    return "tool_calls" if calls else "stop"


def _logprobs(body: Any, tokens: list[str], given: Sequence[float] | None) -> dict[str, Any] | None:
    if not body.get("logprobs"):
        return None
    # A token by its id, where the request asks for that, as vLLM names it.
    named = "token_id:{}" if body.get("return_tokens_as_token_ids") else "text {}"
    likely = [
        {"token": named.format(rank), "logprob": -1.0 - rank, "bytes": None}
        for rank in range(body.get("top_logprobs") or 0)
    ]
    content = [
        {"token": token, "logprob": value, "bytes": list(token.encode()), "top_logprobs": likely}
        for token, value in zip(tokens, given or itertools.repeat(-0.25), strict=False)
    ]
    return {"content": content, "refusal": None}


def _tokens(body: Any, answer: Answer) -> dict[str, Any]:
    """The captured tokens of a whole choice."""
    if answer.sampled is None or not body.get("return_token_ids"):
        return {}
    return {"token_ids": answer.sampled.token_ids, "weight_versions": answer.sampled.versions}


def _stream_events(
    provider: ProviderState,
    body: Any,
    head: dict[str, Any],
    answer: Answer,
    calls: list[dict[str, Any]],
    usage: dict[str, Any],
) -> Iterator[bytes]:
    options = body.get("stream_options") or {}
    counted = {"usage": None} if options.get("include_usage") else {}

    def event(choices: list[dict[str, Any]], **more: Any) -> bytes:
        chunk = {"object": "chat.completion.chunk", **head, "choices": choices, **counted, **more}
        return data_event({**chunk, **answer.more})

    choices = range(body.get("n") or 1)
    deltas = [_deltas(provider, body, answer, calls) for _ in choices]
    for number, step in enumerate(zip(*deltas, strict=True)):
        if answer.error is not None and number == answer.pieces:
            yield data_event(answer.error.openai_body())
            return
        for index, choice in zip(choices, step, strict=True):
            yield event([{"index": index, **choice}])
    if counted:
        yield event([], usage=usage)
    yield DONE


def _deltas(
    provider: ProviderState, body: Any, answer: Answer, calls: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """What a stream says of one choice, piece by piece."""

    def piece(delta: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {"delta": delta, "logprobs": None, "finish_reason": None, **more}

    sampled = answer.sampled
    opening = {"role": "assistant", "content": "" if answer.text or not calls else None, "refusal": None}
    yield piece(opening)
    for number, word in enumerate(answer.words):
        own = sampled.logprobs[number : number + 1] if sampled else None
        tokens = {"token_ids": [sampled.token_ids[number]]} if sampled and _tokens(body, answer) else {}
        yield piece({"content": word}, logprobs=_logprobs(body, [word], own), **tokens)
    for word in words(answer.refusal or ""):
        yield piece({"refusal": word})
    pieces = [list(_call_deltas(index, call, provider.names_in_two)) for index, call in enumerate(calls)]
    ordered = (
        (one for step in itertools.zip_longest(*pieces) for one in step if one is not None)
        if provider.interleaved
        else itertools.chain(*pieces)
    )
    for one in ordered:
        yield piece({"tool_calls": [one]})
    versions = {"weight_versions": sampled.versions} if sampled and _tokens(body, answer) else {}
    yield piece({}, finish_reason=_finish_reason(calls), **versions, **answer.choice)


def _call_deltas(index: int, call: dict[str, Any], name_in_two: bool) -> Iterator[dict[str, Any]]:
    function = call["function"]
    first, rest = (function["name"][:4], function["name"][4:]) if name_in_two else (function["name"], "")
    yield {"index": index, **call, "function": {"name": first, "arguments": ""}}
    if rest:
        yield {"index": index, "function": {"name": rest}}
    for fragment in fragments(function["arguments"]):
        yield {"index": index, "function": {"arguments": fragment}}


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


def _read_dialogue(body: Any) -> Dialogue:
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
        _forced_tool(body.get("tool_choice"), tools),
        body.get("parallel_tool_calls") is not False,
        body,
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
            items.append(ResultItem(call_id, "".join(_texts(message, where))))
            continue
        refuse(bool(waiting), _LACKING.format(", ".join(waiting)), where)
        items += [MessageItem(role, text) for text in _texts(message, where)]
        calls = message.get("tool_calls") or []
        refuse(
            "tool_calls" in message and message["tool_calls"] == [],
            f"Invalid '{where}.tool_calls': empty array. Expected an array with minimum length 1.",
            f"{where}.tool_calls",
            "empty_array",
        )
        for call in calls:
            refuse(call.get("id") in waiting, f"Duplicate value for 'id' of '{call.get('id')}'.", where)
            items.append(_read_call(call, f"{where}.tool_calls"))
            waiting.append(call["id"])
    refuse(bool(waiting), _LACKING.format(", ".join(waiting)), f"messages[{len(messages) - 1}]")
    return items


def _read_call(call: Any, where: str) -> CallItem:
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
    return CallItem(call["id"], function["name"], function["arguments"])


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


def _tools(body: Any) -> tuple[DeclaredTool, ...]:
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


def _forced_tool(choice: Any, tools: tuple[DeclaredTool, ...]) -> str | None:
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
        check_strict(
            named["schema"], f"Invalid schema for response_format '{named['name']}'", "response_format"
        )
    schema: dict[str, Any] = named["schema"]
    return schema
