"""Injected provider errors in Responses form.

A client may go on from a response by its id: then the provider holds what was said. It knows no answer that
noise made up, and no call under another id. Clients get such answers only if they resend the history
themselves.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from crosswind.gateway.http.sse import write_event
from crosswind.gateway.protocols.json_values import encode
from crosswind.gateway.protocols.provider_errors import ProviderErrors, blank_id, openai_words, split_words
from crosswind.gateway.protocols.request import Request
from crosswind.injectors.faults import AnswerCall, AnswerContent, AnswerEdit

_REFUSALS = openai_words(
    "Your input exceeds the context window of this model. Please adjust your input and try again.", "input"
)
_CONTENT = (
    b"response.output_text.delta",
    b"response.refusal.delta",
    b"response.reasoning_summary_text.delta",
    b"response.reasoning_text.delta",
    b"response.function_call_arguments.delta",
)
_TOLD = {
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "instructions": None,
    "metadata": {},
}
"""The members of a request that its response repeats, with their defaults."""
_NOTHING_USED = {
    "input_tokens": 0,
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens": 0,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 0,
}

Event = tuple[str, dict[str, Any]]
"""Its type, and its other members."""

_IN_PARTS = {"message": ("content",), "reasoning": ("summary", "content")}
"""The members of an item that come part by part."""
_PARTS = {
    "refusal": ("refusal", "content_part", "content_index", "refusal"),
    "summary_text": ("reasoning_summary_text", "reasoning_summary_part", "summary_index", "text"),
}
"""How the events of a part are named where that isn't as for a text: its deltas, its frame, its index, and
the member that grows.
"""


class ResponsesErrors(ProviderErrors):
    """The provider errors of Responses."""

    refusals = _REFUSALS

    def make_blank(self, request: Request, kind: str) -> dict[str, Any] | None:
        document = request.split.document
        if not _keeps_history(request):
            return None
        filtered = kind == "content_filter"
        name = blank_id(request, 32)
        text = {"type": "output_text", "text": "", "annotations": []}
        message = {"id": f"msg_{name}", "type": "message", "status": "completed", "role": "assistant"}
        told = {name: document.value(name) if name in document.members else _TOLD[name] for name in _TOLD}
        return {
            "id": f"resp_{name}",
            "object": "response",
            "created_at": int(time.time()),
            "status": "incomplete" if filtered else "completed",
            "error": None,
            "incomplete_details": {"reason": "content_filter"} if filtered else None,
            "model": request.model,
            "output": [] if filtered else [message | {"content": [text]}],
            **told,
            "usage": _NOTHING_USED,
        }

    def edit(self, answer: dict[str, Any], fault: AnswerEdit, request: Request) -> dict[str, Any] | None:
        output = [item for item in answer.get("output") or () if isinstance(item, dict)]
        calls = [item for item in output if item.get("type") == "function_call"]
        parts = [(item, part) for item in output if item.get("type") == "message" for part in item["content"]]
        texts = [
            (item, part) for item, part in parts if part.get("type") == "output_text" and part.get("text")
        ]
        read = tuple(AnswerCall(item["call_id"], item["name"], item["arguments"]) for item in calls)
        edited = fault.edit(AnswerContent(texts[-1][1]["text"] if texts else "", read))
        if edited is None or (edited.cut_short and calls):
            return None
        renamed = any(before.call_id != call.call_id for before, call in zip(read, edited.calls, strict=True))
        if renamed and not _keeps_history(request):
            return None
        for item, call in zip(calls, edited.calls, strict=True):
            item |= {"call_id": call.call_id, "name": call.name, "arguments": call.arguments}
        for item, part in texts[-1:]:
            part["text"] = edited.text
            if edited.cut_short:
                item["status"] = "incomplete"
                answer |= {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
        return answer

    def write_stream(self, answer: dict[str, Any], request: Request) -> bytes:
        return b"".join(
            write_event(kind, encode({"type": kind, "sequence_number": number, **members}))
            for number, (kind, members) in enumerate(_events(answer))
        )

    def has_content(self, data: bytes) -> bool:
        return any(kind in data for kind in _CONTENT)


def _keeps_history(request: Request) -> bool:
    """Whether the client resends what the policy said, or can do nothing else."""
    if request.split.held_by is not None or request.split.refers:
        return False
    resent = any(step.parsed.calls or step.parsed.own_text is not None for step in request.steps)
    return resent or request.split.document.value("store") is False


def _events(response: dict[str, Any]) -> Iterator[Event]:
    begun = response | {"status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    yield "response.created", {"response": begun}
    yield "response.in_progress", {"response": begun}
    for index, item in enumerate(response["output"]):
        place = {"output_index": index, "item_id": item.get("id")}
        yield "response.output_item.added", {"output_index": index, "item": _open_item(item)}
        if item.get("type") == "function_call":
            yield "response.function_call_arguments.delta", {**place, "delta": item["arguments"]}
            done = {"name": item["name"], "arguments": item["arguments"]}
            yield "response.function_call_arguments.done", {**place, **done}
        for member in _IN_PARTS.get(str(item.get("type")), ()):
            for at, part in enumerate(item.get(member) or ()):
                yield from _part(part, place, at)
        yield "response.output_item.done", {"output_index": index, "item": item}
    yield f"response.{response['status']}", {"response": response}


def _open_item(item: dict[str, Any]) -> dict[str, Any]:
    if item.get("type") == "function_call":
        return item | {"status": "in_progress", "arguments": ""}
    empty: dict[str, Any] = {
        member: [] for member in _IN_PARTS.get(str(item.get("type")), ()) if member in item
    }
    return item | empty | ({"status": "in_progress"} if "status" in item else {})


def _part(part: dict[str, Any], place: dict[str, Any], at: int) -> Iterator[Event]:
    """A part of a message or of reasoning, its text word by word."""
    kind = part["type"]
    name, frame, index, member = _PARTS.get(kind, (kind, "content_part", "content_index", "text"))
    place = {**place, index: at}
    logprobs: dict[str, Any] = {"logprobs": []} if kind == "output_text" else {}
    yield f"response.{frame}.added", {**place, "part": part | {member: ""}}
    for piece in split_words(part[member]):
        yield f"response.{name}.delta", {**place, "delta": piece, **logprobs}
    yield f"response.{name}.done", {**place, member: part[member], **logprobs}
    yield f"response.{frame}.done", {**place, "part": part}
