"""OpenAI's fine-tuning file for chat models: {messages, tools, parallel_tool_calls} a line.

The policy's answers have `weight` 1; what an agent wrote into the history in its place has 0. OpenAI refuses
members that it doesn't know, so a line doesn't say its session: a file holds one view.
"""

from __future__ import annotations

import json
from typing import Any, BinaryIO

from crosswind.gateway.trajectory.conversations import (
    READABLE,
    Conversation,
    Message,
    read_conversations,
    read_tool_calls,
)
from crosswind.gateway.trajectory.export_format import ExportRefused, Selection, export_format

_KEPT = ("role", "content", "name", "refusal", "tool_call_id")


@export_format("openai")
def write_openai(selection: Selection, out: BinaryIO) -> None:
    """One conversation a line."""
    if len(selection.views) > 1:
        raise ExportRefused("openai: a line can't say its view: give --view clean or --view perturbed")
    for trajectory in selection.trajectories():
        found = read_conversations(trajectory.turns, selection.views[0])
        if not found:
            selection.leave_out(f"sessions without an answer that is stored as {READABLE}")
        for conversation in found:
            out.write(json.dumps(_make_line(conversation), ensure_ascii=False).encode() + b"\n")


def _make_line(conversation: Conversation) -> dict[str, Any]:
    messages = [
        _make_message(message, index in conversation.sampled)
        for index, message in enumerate(conversation.messages)
    ]
    return {"messages": messages} | conversation.options


def _make_message(message: Message, sampled: bool) -> Message:
    made = {name: message[name] for name in _KEPT if message.get(name) is not None}
    if message.get("role") != "assistant":
        return made
    if calls := read_tool_calls(message):
        made["tool_calls"] = calls
    return {"content": None} | made | {"weight": int(sampled)}
