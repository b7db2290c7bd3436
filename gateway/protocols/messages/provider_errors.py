"""Messages of a provider out of sorts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from crosswind.gateway.errors import ServiceError
from crosswind.gateway.protocols.document import encode
from crosswind.gateway.protocols.faults import Fault
from crosswind.gateway.protocols.messages.block_stream import arguments, is_call
from crosswind.gateway.protocols.provider_errors import picked, shortened
from crosswind.gateway.protocols.request import Request
from crosswind.injectors.identity import digest

_STREAMED = {"text": ("text_delta", "text"), "thinking": ("thinking_delta", "thinking")}
"""The delta and the member in which a block of this type comes in pieces."""


class MessagesForms:
    """The forms of Messages, in its provider's words."""

    def refusal(self, fault: Fault) -> ServiceError:
        match fault.settings["error"]:
            case "rate_limited":
                wait = str(fault.settings["retry_after_s"]).encode()
                return ServiceError(
                    429,
                    "This request would exceed your organization's rate limit. Please try again later.",
                    code="rate_limit_exceeded",
                    headers=[(b"retry-after", wait)],
                )
            case "context_length":
                return ServiceError(400, "prompt is too long", code="context_length_exceeded")
            case _:
                return ServiceError(529, "Overloaded", code="overloaded")

    def blank(self, request: Request, kind: str) -> dict[str, Any]:
        return {
            "id": f"msg_{digest(request.document.body.decode('utf-8', 'replace'))[:24]}",
            "type": "message",
            "role": "assistant",
            "model": request.model,
            "content": [],
            "stop_reason": "refusal" if kind == "content_filter" else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }

    def edited(self, answer: dict[str, Any], fault: Fault, request: Request) -> dict[str, Any] | None:
        """Arguments can be malformed in a stream only: a plain answer has them as an object."""
        blocks = [block for block in answer.get("content") or () if isinstance(block, dict)]
        calls = [block for block in blocks if is_call(block)]
        texts = [block for block in blocks if block.get("type") == "text" and block.get("text")]
        match fault.settings["edit"]:
            case "length_cut" if texts:
                last = texts[-1]
                last["text"] = shortened(last["text"], fault.number("keep"))
                answer["content"] = blocks[: blocks.index(last) + 1]
                answer["stop_reason"] = "max_tokens"
            case "malformed_arguments" if calls and request.stream:
                call = calls[picked(len(calls), fault)]
                call["input"] = shortened(arguments(call), fault.number("keep"))
            case "unknown_tool" if calls:
                calls[picked(len(calls), fault)]["name"] += fault.settings["suffix"]
            case "duplicated_call_id" if len(calls) > 1:
                for call in calls:
                    call["id"] = calls[0]["id"]
            case _:
                return None
        return answer

    def events(self, answer: dict[str, Any], request: Request) -> bytes:
        return b"".join(
            b"event: " + event["type"].encode() + b"\ndata: " + encode(event) + b"\n\n"
            for event in _events(answer)
        )

    def has_content(self, data: bytes) -> bool:
        return b'"content_block_delta"' in data


def _events(answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
    usage = answer.get("usage") or {}
    opening = {**answer, "content": [], "stop_reason": None, "stop_sequence": None}
    yield {"type": "message_start", "message": {**opening, "usage": {**usage, "output_tokens": 0}}}
    for index, block in enumerate(answer.get("content") or ()):
        start, deltas = _parts(block)
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending = {"stop_reason": answer.get("stop_reason"), "stop_sequence": answer.get("stop_sequence")}
    yield {"type": "message_delta", "delta": ending, "usage": usage}
    yield {"type": "message_stop"}


def _parts(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A block's opening, and the deltas that complete it."""
    if is_call(block):
        return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": arguments(block)}]
    kind, member = _STREAMED.get(str(block.get("type")), ("", ""))
    if not kind:
        return block, []
    words = str(block.get(member, "")).split(" ")
    pieces = [*(f"{word} " for word in words[:-1]), words[-1]]
    deltas: list[dict[str, Any]] = [{"type": kind, member: piece} for piece in pieces]
    if "signature" in block:
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
        return {**block, member: "", "signature": ""}, deltas
    return {**block, member: ""}, deltas
