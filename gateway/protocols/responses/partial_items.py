"""Responses: an output item that a stream began and did not complete, put together from its events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crosswind.gateway.protocols.coercion import as_text
from crosswind.gateway.protocols.document import decode

_DELTAS = {
    "response.output_text.delta": ("content", "content_index", "text"),
    "response.refusal.delta": ("content", "content_index", "refusal"),
    "response.reasoning_text.delta": ("content", "content_index", "text"),
    "response.reasoning_summary_text.delta": ("summary", "summary_index", "text"),
}
"""Where a delta goes: the item's member, the part's index, the part's member."""
_PARTS = {
    "response.content_part.added": ("content", "content_index"),
    "response.content_part.done": ("content", "content_index"),
    "response.reasoning_summary_part.added": ("summary", "summary_index"),
    "response.reasoning_summary_part.done": ("summary", "summary_index"),
}
_STRINGS = {
    "response.function_call_arguments.delta": "arguments",
    "response.custom_tool_call_input.delta": "input",
    "response.mcp_call_arguments.delta": "arguments",
    "response.code_interpreter_call_code.delta": "code",
}


def assemble_item(events: Sequence[bytes]) -> dict[str, Any] | None:
    """The item that events, as JSON, amount to; None where none of them began one. Never raises."""
    item: dict[str, Any] | None = None
    for raw in events:
        try:
            event = decode(raw)
        except (ValueError, RecursionError):
            continue
        kind = event["type"]
        if kind == "response.output_item.added":
            item = event.get("item") if isinstance(event.get("item"), dict) else item
        elif item is not None:
            _grow(item, kind, event)
    return item


def _grow(item: dict[str, Any], kind: str, event: dict[str, Any]) -> None:
    delta = event.get("delta")
    if kind in _PARTS:
        member, index = _PARTS[kind]
        if isinstance(event.get("part"), dict):
            _part(item, member, event.get(index)).update(event["part"])
    elif kind in _DELTAS and isinstance(delta, str):
        member, index, name = _DELTAS[kind]
        part = _part(item, member, event.get(index))
        part[name] = as_text(part, name) + delta
    elif kind in _STRINGS and isinstance(delta, str):
        item[_STRINGS[kind]] = as_text(item, _STRINGS[kind]) + delta


def _part(item: dict[str, Any], member: str, index: Any) -> dict[str, Any]:
    """The part of this index; parts come one after the other, so one beyond the last is the next."""
    parts = item.get(member)
    if not isinstance(parts, list):
        parts = item[member] = []
    if isinstance(index, int) and 0 <= index < len(parts) and isinstance(parts[index], dict):
        found: dict[str, Any] = parts[index]
        return found
    parts.append({})
    last: dict[str, Any] = parts[-1]
    return last
