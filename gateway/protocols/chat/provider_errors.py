"""Injected provider errors in Chat Completions form."""

from __future__ import annotations

import time
from typing import Any

from crosswind.gateway.http.sse import DONE
from crosswind.gateway.protocols.json_values import encode
from crosswind.gateway.protocols.provider_errors import ProviderErrors, blank_id, openai_words, split_words
from crosswind.gateway.protocols.request import Request
from crosswind.injectors.faults import AnswerCall, AnswerContent, AnswerEdit

_REFUSALS = openai_words(
    "This model's maximum context length is exceeded. Please reduce the messages.", "messages"
)


class ChatErrors(ProviderErrors):
    """The provider errors of Chat Completions. Of several choices the first one is edited."""

    refusals = _REFUSALS

    def make_blank(self, request: Request, kind: str) -> dict[str, Any]:
        finish = "content_filter" if kind == "content_filter" else "stop"
        choices = [
            {"index": index, "message": {"role": "assistant", "content": ""}, "finish_reason": finish}
            for index in range(request.choices)
        ]
        return {
            "id": f"chatcmpl-{blank_id(request, 24)}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": request.model,
            "choices": choices,
            "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        }

    def edit(self, answer: dict[str, Any], fault: AnswerEdit, request: Request) -> dict[str, Any] | None:
        choice = answer["choices"][0] if answer.get("choices") else {}
        message = choice.get("message") or {}
        calls = [one for one in message.get("tool_calls") or [] if isinstance(one.get("function"), dict)]
        read = [AnswerCall(one["id"], one["function"]["name"], one["function"]["arguments"]) for one in calls]
        edited = fault.edit(AnswerContent(message.get("content") or "", tuple(read)))
        if edited is None:
            return None
        for one, call in zip(calls, edited.calls, strict=False):
            one["id"] = call.call_id
            one["function"] |= {"name": call.name, "arguments": call.arguments}
        if edited.text:
            message["content"] = edited.text
        if edited.cut_short:
            message.pop("tool_calls", None)
            choice["finish_reason"] = "length"
        return answer

    def write_stream(self, answer: dict[str, Any], request: Request) -> bytes:
        head: dict[str, Any] = {name: answer[name] for name in ("id", "created", "model") if name in answer}
        head["object"] = "chat.completion.chunk"
        deltas: list[dict[str, Any]] = []
        for choice in answer["choices"]:
            index, message = choice["index"], choice["message"]
            calls = [{"index": at, **call} for at, call in enumerate(message.get("tool_calls") or ())]
            opening = {**message, "content": "" if message.get("content") else None}
            opening.pop("tool_calls", None)
            said = [{"content": word} for word in split_words(message.get("content") or "")]
            called = [{"tool_calls": [call]} for call in calls]
            deltas += [
                {"index": index, "delta": delta, "finish_reason": None} for delta in (opening, *said, *called)
            ]
            deltas.append({"index": index, "delta": {}, "finish_reason": choice["finish_reason"]})
        chunks = [{**head, "choices": [delta]} for delta in deltas]
        if "usage" in request.requested and answer.get("usage"):
            chunks.append({**head, "choices": [], "usage": answer["usage"]})
        return b"".join(b"data: " + raw + b"\n\n" for raw in (*map(encode, chunks), DONE))

    def has_content(self, data: bytes) -> bool:
        return b'"content":"' in data.replace(b" ", b"") or b'"tool_calls"' in data
