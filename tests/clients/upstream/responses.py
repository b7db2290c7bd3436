"""Responses: the answer, plain and as a stream of typed events."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from tests.clients.upstream import response_events, responses_input
from tests.clients.upstream.chat import CREATED, read_body, tokens_in, tokens_out
from tests.clients.upstream.dialogue import Answer, Dialogue
from tests.clients.upstream.provider import Provider, Seen
from tests.clients.upstream.wire import Reply, named, plain, stream


def create(provider: Provider, seen: Seen, _: re.Match[str]) -> Reply:
    body = read_body(seen.body)
    items = responses_input.new_items(body, provider.stored, provider.new_id)
    context = [*provider.stored.before(body.get("previous_response_id")), *items]
    dialogue = responses_input.dialogue(body, context, provider.stored)
    answer = provider.answer(dialogue)
    output = _output(provider, answer, body)
    provider.stored.produced(output)
    response = _response(provider, body, answer) | {
        "status": "completed",
        "completed_at": CREATED,
        "output": output,
        "usage": _usage(dialogue, answer),
    }
    if body.get("store") is not False:
        provider.stored.keep(response, context)
    if body.get("stream"):
        return stream(_streamed(response, answer))
    return plain(response)


def _streamed(response: dict[str, Any], answer: Answer) -> Iterator[bytes]:
    for number, event in enumerate(response_events.events(response)):
        if answer.error is not None and number == answer.pieces:
            failure = {"code": "server_error", "message": answer.error.message}
            failed = response | {"status": "failed", "output": [], "usage": None, "error": failure}
            yield named({"type": "response.failed", "sequence_number": number, "response": failed})
            return
        yield named(event)


def _response(provider: Provider, body: Any, answer: Answer) -> dict[str, Any]:
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
        "tools": [_told(tool) for tool in body.get("tools") or ()],
        "top_logprobs": 0,
        "top_p": 1.0,
        "truncation": "disabled",
        "user": None,
        **answer.more,
    }


def _told(tool: dict[str, Any]) -> dict[str, Any]:
    if tool.get("type") != "function":
        return tool
    return {"description": None, "strict": True, "parameters": None, **tool}


def _output(provider: Provider, answer: Answer, body: Any) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if answer.reasoning and body.get("reasoning"):
        item: dict[str, Any] = {"id": provider.new_id("rs_"), "type": "reasoning"}
        item["summary"] = [{"type": "summary_text", "text": answer.reasoning}]
        if "reasoning.encrypted_content" in (body.get("include") or ()):
            item["encrypted_content"] = provider.produced.seal(answer.reasoning)
        items.append(item)
    if answer.text or answer.refusal:
        part = (
            {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}
            if answer.text
            else {"type": "refusal", "refusal": answer.refusal}
        )
        head = {"id": provider.new_id("msg_"), "type": "message", "status": "completed"}
        items.append(head | {"role": "assistant", "content": [part]})
    for number, call in enumerate(answer.calls):
        call_id = provider.new_id("call_", number)
        provider.produced.call(call_id, call.name, call.arguments)
        head = {"id": provider.new_id("fc_", number), "type": "function_call", "status": "completed"}
        made = {"call_id": call_id, "name": call.name, "arguments": json.dumps(call.arguments)}
        items.append(head | made)
    return items


def _usage(dialogue: Dialogue, answer: Answer) -> dict[str, Any]:
    given, made = tokens_in(dialogue), tokens_out(answer)
    return {
        "input_tokens": given,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": made,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": given + made,
    }
