"""A session's conversations as messages of chat completions: what the agent had, or what the policy had.

A session is one conversation where each request begins with the messages of the one before. Where an agent
has changed its history, or asks in several branches, there are several.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from crosswind.gateway.trajectory.content import View
from crosswind.gateway.trajectory.export_format import ViewName
from crosswind.gateway.trajectory.record import Turn

Message = dict[str, Any]
READABLE = "chat"
"""The protocol whose turns are read."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its answer, in one view."""

    messages: list[Message]
    answer: Message | None
    """None: it failed, or noise destroyed it."""
    options: dict[str, Any]
    """`tools` and `parallel_tool_calls`, where the request has them."""

    def continues(self, before: Exchange) -> bool:
        """Whether it asks the same again, or more behind it."""
        return self.messages[: len(before.messages)] == before.messages


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages up to the last answer, and which of them are answers to requests of this session."""

    messages: list[Message]
    sampled: frozenset[int]
    options: dict[str, Any]


def read_exchange(turn: Turn, view: ViewName) -> Exchange | None:
    """The exchange of a turn; None if it is of another protocol, or its bodies aren't stored."""
    asked = turn.received if view is ViewName.CLEAN else turn.sent or turn.received
    answered = (turn.delivered_view or turn.produced) if view is ViewName.CLEAN else turn.produced
    request = _decode(asked)
    messages = request.get("messages")
    if turn.protocol != READABLE or not isinstance(messages, list):
        return None
    options = {
        name: request[name] for name in ("tools", "parallel_tool_calls") if request.get(name) is not None
    }
    return Exchange([one for one in messages if isinstance(one, dict)], _read_answer(answered), options)


def read_conversations(turns: Iterable[Turn], view: ViewName) -> list[Conversation]:
    """The conversations of a session, in order. Those without an answer are left out."""
    ordered = sorted(turns, key=lambda turn: (turn.index, turn.attempt))
    exchanges = [one for turn in ordered if (one := read_exchange(turn, view)) is not None]
    last = [
        one
        for index, one in enumerate(exchanges)
        if not any(later.continues(one) for later in exchanges[index + 1 :])
    ]
    found = [_make_conversation(one, exchanges) for one in last]
    return [one for one in found if one.sampled]


def _make_conversation(last: Exchange, exchanges: Sequence[Exchange]) -> Conversation:
    messages = last.messages + ([last.answer] if last.answer else [])
    asked = {len(one.messages) for one in exchanges if last.continues(one)}
    sampled = frozenset(
        index for index in asked if index < len(messages) and messages[index].get("role") == "assistant"
    )
    return Conversation(messages[: max(sampled, default=-1) + 1], sampled, last.options)


def read_first_message(turns: Iterable[Turn]) -> str:
    """What the user said first, whatever the protocol; empty where no body on record has it."""
    for turn in turns:
        request = _decode(turn.received)
        said = next((request[name] for name in ("messages", "input", "prompt") if name in request), None)
        if isinstance(said, str):
            return said
        for message in said if isinstance(said, list) else ():
            if (
                isinstance(message, dict)
                and message.get("role") == "user"
                and (text := read_text(message.get("content")))
            ):
                return text
    return ""


def read_text(content: Any) -> str:
    """The text of a message's content: a string, or parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def read_tool_calls(message: Message) -> list[Message]:
    """The calls of an answer, with the members that every library reads."""
    calls = message.get("tool_calls") or []
    return [
        {
            "id": str(call.get("id") or ""),
            "type": "function",
            "function": {name: str(call["function"].get(name) or "") for name in ("name", "arguments")},
        }
        for call in calls
        if isinstance(call, dict) and isinstance(call.get("function"), dict)
    ]


def _read_answer(view: View | None) -> Message | None:
    choices = _decode(view).get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    return {"role": "assistant"} | message if isinstance(message, dict) else None


def _decode(view: View | None) -> dict[str, Any]:
    try:
        value = None if view is None else msgspec.json.decode(view.bytes())
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
