"""Chat messages as conversations."""

from __future__ import annotations

from typing import Any

from crosswind.injectors.cli.documents import apply_replacements, conversation
from crosswind.injectors.conversation import ToolResult, UserText
from tests.injectors.dialogues import TOOLS, call


def test_items_are_found_with_their_identities() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "be kind"},
        {
            "role": "user",
            "content": [{"type": "text", "text": "hello"}, {"type": "image_url", "image_url": {}}],
        },
        *call("get_order", {"a": 1}, "{}", 0),
        *call("get_order", {"a": 1}, "{}", 1),
        {"role": "tool", "tool_call_id": "never_called", "content": "?"},
        {"role": "user", "content": "hello"},
    ]
    view = conversation(messages, TOOLS)
    first, one, two, unknown, last = view.items
    assert isinstance(first, UserText) and isinstance(last, UserText)
    assert isinstance(one, ToolResult) and isinstance(two, ToolResult)
    assert isinstance(unknown, ToolResult) and unknown.call.name == ""
    assert (first.ref.message, first.ref.part, last.ref.part) == (1, 0, None)
    assert (first.ordinal, last.ordinal, one.ordinal, two.ordinal) == (0, 1, 0, 1)
    assert first.anchor.endswith("#0") and last.anchor == first.anchor.replace("#0", "#1")
    assert one.logical_call == two.logical_call and one.anchor != two.anchor
    assert [tool.name for tool in view.tools] == ["get_order", "search_items", "cancel_order"]


def test_repeated_call_ids_stay_apart() -> None:
    messages = call("get_order", {"a": 1}, "{}", 0) + call("get_order", {"a": 2}, "{}", 0)
    one, two = conversation(messages).items
    assert (one.anchor, two.anchor) == ("call:call_0#0", "call:call_0#1")


def test_replacing_leaves_the_original_alone() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": "hello", "cache": 1}]}
    ]
    (item,) = conversation(messages).items
    noisy = apply_replacements(messages, {item.ref: "helo"})
    assert noisy == [{"role": "user", "content": [{"type": "text", "text": "helo", "cache": 1}]}]
    assert messages[0]["content"][0]["text"] == "hello"
