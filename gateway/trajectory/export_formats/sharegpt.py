"""ShareGPT's conversations, with the roles of LLaMA-Factory: human, gpt, function_call and observation.

A line is {conversations, system, tools, view, ...} with what is known of the session. LLaMA-Factory wants
question and answer in turns: messages in a row of one side are joined, results of parallel calls too.
"""

from __future__ import annotations

import json
from typing import Any, BinaryIO

from crosswind.gateway.trajectory.conversations import (
    READABLE,
    Conversation,
    Message,
    read_conversations,
    read_text,
    read_tool_calls,
)
from crosswind.gateway.trajectory.export_format import Selection, describe_session, export_format

_SYSTEM = ("system", "developer")
_ROLES = {"user": "human", "tool": "observation", "function": "observation", "assistant": "gpt"}
_ASKING = ("human", "observation")


@export_format("sharegpt")
def write_sharegpt(selection: Selection, out: BinaryIO) -> None:
    """One conversation of one view a line."""
    for trajectory in selection.trajectories():
        known = describe_session(trajectory)
        for view in selection.views:
            found = read_conversations(trajectory.turns, view)
            if not found:
                selection.leave_out(f"sessions without an answer that is stored as {READABLE}")
            for conversation in found:
                line = _make_line(conversation, selection)
                if line is not None:
                    text = json.dumps(line | {"view": view} | known, ensure_ascii=False)
                    out.write(text.encode() + b"\n")


def _make_line(conversation: Conversation, selection: Selection) -> dict[str, Any] | None:
    system = [message for message in conversation.messages if message.get("role") in _SYSTEM]
    turns: list[dict[str, str]] = []
    for message in conversation.messages:
        if message in system:
            continue
        made = _make_turn(message, selection)
        if turns and turns[-1]["from"] == made["from"] != "function_call":
            turns[-1] = made | {"value": f"{turns[-1]['value']}\n{made['value']}"}
        else:
            turns.append(made)
    if any((turn["from"] in _ASKING) == bool(index % 2) for index, turn in enumerate(turns)):
        selection.leave_out("conversations in which question and answer don't alternate")
        return None
    tools = conversation.options.get("tools")
    return {
        "conversations": turns,
        "system": "\n".join(read_text(message.get("content")) for message in system),
        "tools": "" if tools is None else json.dumps(_list_functions(tools), ensure_ascii=False),
    }


def _make_turn(message: Message, selection: Selection) -> dict[str, str]:
    said = read_text(message.get("content"))
    calls = [call["function"] for call in read_tool_calls(message)]
    if not calls:
        return {"from": _ROLES.get(str(message.get("role")), "human"), "value": said}
    if said.strip():
        selection.leave_out("texts beside a call, for which a function_call has no place")
    made = [{"name": one["name"], "arguments": _read_arguments(one["arguments"])} for one in calls]
    value = json.dumps(made[0] if len(made) == 1 else made, ensure_ascii=False)
    return {"from": "function_call", "value": value}


def _read_arguments(text: str) -> Any:
    """The object; the text as it was sampled where it is none."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _list_functions(tools: Any) -> list[Any]:
    return [tool["function"] if isinstance(tool, dict) and "function" in tool else tool for tool in tools]
