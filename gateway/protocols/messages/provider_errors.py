"""Injected provider errors in Messages form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from crosswind.gateway.http.sse import write_event
from crosswind.gateway.protocols.json_values import encode
from crosswind.gateway.protocols.messages.mapped_stream import arguments, is_call
from crosswind.gateway.protocols.provider_errors import ProviderErrors, Wording, blank_id, split_words
from crosswind.gateway.protocols.request import Request
from crosswind.injectors.faults import AnswerCall, AnswerContent, AnswerEdit

_STREAMED = {"text": ("text_delta", "text"), "thinking": ("thinking_delta", "thinking")}
"""The delta and the member in which a block of this type comes in pieces."""
_LIMITED = "This request would exceed your organization's rate limit. Please try again later."
_REFUSALS = {
    "rate_limited": Wording(429, _LIMITED, "rate_limit_exceeded"),
    "overloaded": Wording(529, "Overloaded", "overloaded"),
    "context_length": Wording(400, "prompt is too long", "context_length_exceeded"),
}


class MessagesErrors(ProviderErrors):
    """The provider errors of Messages."""

    refusals = _REFUSALS

    def make_blank(self, request: Request, kind: str) -> dict[str, Any]:
        return {
            "id": f"msg_{blank_id(request, 24)}",
            "type": "message",
            "role": "assistant",
            "model": request.model,
            "content": [],
            "stop_reason": "refusal" if kind == "content_filter" else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }

    def edit(self, answer: dict[str, Any], fault: AnswerEdit, request: Request) -> dict[str, Any] | None:
        blocks = [block for block in answer.get("content") or () if isinstance(block, dict)]
        calls = [block for block in blocks if is_call(block)]
        texts = [block for block in blocks if block.get("type") == "text" and block.get("text")]
        read = tuple(AnswerCall(block["id"], block["name"], arguments(block)) for block in calls)
        edited = fault.edit(AnswerContent(texts[-1]["text"] if texts else "", read))
        if edited is None:
            return None
        for block, before, call in zip(calls, read, edited.calls, strict=False):
            block |= {"id": call.call_id, "name": call.name}
            if call.arguments != before.arguments:
                if not request.stream:
                    # A plain answer has arguments as an object, which can't be malformed.
                    return None
                block["input"] = call.arguments
        if texts:
            texts[-1]["text"] = edited.text
        if edited.cut_short:
            answer |= {"content": blocks[: blocks.index(texts[-1]) + 1], "stop_reason": "max_tokens"}
        return answer

    def write_stream(self, answer: dict[str, Any], request: Request) -> bytes:
        return b"".join(write_event(event["type"], encode(event)) for event in _events(answer))

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
    deltas = [{"type": kind, member: piece} for piece in split_words(str(block.get(member, "")))]
    if "signature" in block:
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
        return {**block, member: "", "signature": ""}, deltas
    return {**block, member: ""}, deltas
