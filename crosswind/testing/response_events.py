"""The typed events of a streamed response, each with its number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from crosswind.testing.dialogue import fragments, words

Event = dict[str, Any]


def events(response: dict[str, Any]) -> Iterator[Event]:
    """Every event of a response that is complete."""
    for number, event in enumerate(_list_events(response)):
        yield {"type": event["type"], "sequence_number": number, **event}


def _list_events(response: dict[str, Any]) -> Iterator[Event]:
    begun = response | {"status": "in_progress", "completed_at": None, "output": [], "usage": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(response["output"]):
        opening, between = _parts(item)
        yield {"type": "response.output_item.added", "output_index": index, "item": opening}
        for event in between:
            yield {"item_id": item["id"], "output_index": index, **event}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": response}


def _parts(item: dict[str, Any]) -> tuple[dict[str, Any], Iterator[Event]]:
    """An item as it opens, and the events that fill it."""
    if item["type"] == "message":
        return item | {"status": "in_progress", "content": []}, _message(item["content"][0])
    if item["type"] == "function_call":
        return item | {"status": "in_progress", "arguments": ""}, _call(item)
    return item | {"summary": []}, _stream_reasoning(item["summary"][0])


def _message(part: dict[str, Any]) -> Iterator[Event]:
    kind, member = part["type"], "refusal" if part["type"] == "refusal" else "text"
    logprobs: Event = {} if kind == "refusal" else {"logprobs": []}
    yield {"type": "response.content_part.added", "content_index": 0, "part": part | {member: ""}}
    for word in words(part[member]):
        yield {"type": f"response.{kind}.delta", "content_index": 0, "delta": word, **logprobs}
    yield {"type": f"response.{kind}.done", "content_index": 0, member: part[member], **logprobs}
    yield {"type": "response.content_part.done", "content_index": 0, "part": part}


def _call(item: dict[str, Any]) -> Iterator[Event]:
    for fragment in fragments(item["arguments"]):
        yield {"type": "response.function_call_arguments.delta", "delta": fragment}
    yield {"type": "response.function_call_arguments.done", "arguments": item["arguments"]}


def _stream_reasoning(summary: dict[str, Any]) -> Iterator[Event]:
    kind = "response.reasoning_summary"
    yield {"type": f"{kind}_part.added", "summary_index": 0, "part": summary | {"text": ""}}
    for word in words(summary["text"]):
        yield {"type": f"{kind}_text.delta", "summary_index": 0, "delta": word}
    yield {"type": f"{kind}_text.done", "summary_index": 0, "text": summary["text"]}
    yield {"type": f"{kind}_part.done", "summary_index": 0, "part": summary}
