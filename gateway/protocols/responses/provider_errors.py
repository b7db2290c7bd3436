"""Responses of a provider out of sorts.

A client may go on from a response by its id, and then it is the provider who knows what was said: an answer
that the provider does not know, or calls of which the client is told something else, can't be gone on from.
Such answers are given only to clients that are seen to keep the history themselves.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from crosswind.gateway.errors import ServiceError
from crosswind.gateway.protocols.document import encode
from crosswind.gateway.protocols.faults import Fault
from crosswind.gateway.protocols.provider_errors import picked, refusal, shortened
from crosswind.gateway.protocols.request import Request
from crosswind.injectors.identity import digest

_TOO_LONG = "Your input exceeds the context window of this model. Please adjust your input and try again."
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
"""What a response tells back of its request."""
_NOTHING_USED = {
    "input_tokens": 0,
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens": 0,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 0,
}

_IN_PARTS = {"message": ("content",), "reasoning": ("summary", "content")}
"""The members of an item that come part by part."""
_PARTS = {
    "refusal": ("refusal", "content_part", "content_index", "refusal"),
    "summary_text": ("reasoning_summary_text", "reasoning_summary_part", "summary_index", "text"),
}
"""How the events of a part are named where that isn't as for a text: its deltas, its frame, its index, and
the member that grows.
"""


class ResponsesForms:
    """The forms of Responses."""

    def refusal(self, fault: Fault) -> ServiceError:
        return refusal(fault, too_long=_TOO_LONG, param="input")

    def blank(self, request: Request, kind: str) -> dict[str, Any] | None:
        document = request.document
        if not _keeps_history(request):
            return None
        filtered = kind == "content_filter"
        name = digest(document.body.decode("utf-8", "replace"))[:32]
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

    def edited(self, answer: dict[str, Any], fault: Fault, request: Request) -> dict[str, Any] | None:
        output = [item for item in answer.get("output") or () if isinstance(item, dict)]
        calls = [item for item in output if item.get("type") == "function_call"]
        said = [item for item in output if item.get("type") == "message"]
        parts = [(item, part) for item in said for part in item["content"]]
        texts = [
            (item, part) for item, part in parts if part.get("type") == "output_text" and part.get("text")
        ]
        match fault.settings["edit"]:
            case "length_cut" if texts and not calls:
                item, part = texts[-1]
                part["text"] = shortened(part["text"], fault.number("keep"))
                item["status"] = "incomplete"
                answer |= {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
            case "malformed_arguments" if calls:
                call = calls[picked(len(calls), fault)]
                call["arguments"] = shortened(call["arguments"], fault.number("keep"))
            case "unknown_tool" if calls:
                calls[picked(len(calls), fault)]["name"] += fault.settings["suffix"]
            case "duplicated_call_id" if len(calls) > 1 and _keeps_history(request):
                for call in calls:
                    call["call_id"] = calls[0]["call_id"]
            case _:
                return None
        return answer

    def events(self, answer: dict[str, Any], request: Request) -> bytes:
        out = []
        for number, event in enumerate(_events(answer)):
            data = encode({"type": event["type"], "sequence_number": number, **event})
            out.append(b"event: " + event["type"].encode() + b"\ndata: " + data + b"\n\n")
        return b"".join(out)

    def has_content(self, data: bytes) -> bool:
        return any(kind in data for kind in _CONTENT)


def _keeps_history(request: Request) -> bool:
    """Whether the client resends what the policy said, or can do nothing else."""
    if request.split.held_by is not None or request.split.refers:
        return False
    resent = any(step.read.calls or step.read.said is not None for step in request.steps)
    return resent or request.document.value("store") is False


def _events(response: dict[str, Any]) -> Iterator[dict[str, Any]]:
    begun = response | {"status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(response["output"]):
        place = {"output_index": index, "item_id": item.get("id")}
        yield {"type": "response.output_item.added", "output_index": index, "item": _opened(item)}
        if item.get("type") == "function_call":
            yield {"type": "response.function_call_arguments.delta", **place, "delta": item["arguments"]}
            done = {"name": item["name"], "arguments": item["arguments"]}
            yield {"type": "response.function_call_arguments.done", **place, **done}
        for member in _IN_PARTS.get(str(item.get("type")), ()):
            for at, part in enumerate(item.get(member) or ()):
                yield from _part(part, place, at)
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": f"response.{response['status']}", "response": response}


def _opened(item: dict[str, Any]) -> dict[str, Any]:
    if item.get("type") == "function_call":
        return item | {"status": "in_progress", "arguments": ""}
    empty: dict[str, Any] = {
        member: [] for member in _IN_PARTS.get(str(item.get("type")), ()) if member in item
    }
    return item | empty | ({"status": "in_progress"} if "status" in item else {})


def _part(part: dict[str, Any], place: dict[str, Any], at: int) -> Iterator[dict[str, Any]]:
    """A part of a message or of reasoning, its text word by word."""
    kind = part["type"]
    name, frame, index, member = _PARTS.get(kind, (kind, "content_part", "content_index", "text"))
    place = {**place, index: at}
    logprobs: dict[str, Any] = {"logprobs": []} if kind == "output_text" else {}
    yield {"type": f"response.{frame}.added", **place, "part": part | {member: ""}}
    words = part[member].split(" ") if part[member] else []
    for number, word in enumerate(words):
        delta = word if not number else " " + word
        yield {"type": f"response.{name}.delta", **place, "delta": delta, **logprobs}
    yield {"type": f"response.{name}.done", **place, member: part[member], **logprobs}
    yield {"type": f"response.{frame}.done", **place, "part": part}
