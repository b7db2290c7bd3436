"""The conversation as it may go on: the user's next message, the results of the calls just made.

What stands in them isn't known. Texts that don't hang on it can be asked for all the same, before they are
needed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from crosswind.gateway.protocols.codec import Codec
from crosswind.gateway.protocols.message_format import parse_message
from crosswind.injectors.conversation import Conversation, Ref, ToolCall, ToolResult, UserText
from crosswind.injectors.identity import logical_call

_RESULT = '{"result": "ok"}'
"""Stands for what a tool will answer."""


def next_message(conversation: Conversation) -> Conversation | None:
    """The conversation with a further message of the user's; None where the user hasn't spoken yet."""
    said = [item for item in conversation.items if isinstance(item, UserText)]
    if not said:
        return None
    text = UserText(_place(conversation), said[0].text, "foreseen:message", said[-1].ordinal + 1)
    return replace(conversation, items=(*conversation.items, text))


def after_answer(codec: Codec, conversation: Conversation, delivered: bytes) -> Conversation | None:
    """The conversation with results of the calls that an answer makes; None where it makes none."""
    if codec.closing is None:
        return None
    calls = [
        call
        for raw in codec.closing.made_message(delivered)
        for call in parse_message(codec.messages, raw).calls
    ]
    results = tuple(_results(conversation, calls))
    return replace(conversation, items=(*conversation.items, *results)) if results else None


def _results(conversation: Conversation, calls: Iterable[ToolCall]) -> Iterable[ToolResult]:
    ordinals = [item.ordinal for item in conversation.items if isinstance(item, ToolResult)]
    first, place = ordinals[-1] + 1 if ordinals else 0, _place(conversation)
    for at, call in enumerate(calls):
        ref = Ref(place.message + at)
        logical = logical_call(call.name, call.arguments)
        yield ToolResult(ref, _RESULT, f"foreseen:{at}", first + at, call, logical)


def _place(conversation: Conversation) -> Ref:
    """After an answer of the policy's."""
    return Ref(conversation.items[-1].ref.message + 2 if conversation.items else 1)
