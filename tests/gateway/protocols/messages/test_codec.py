"""The Messages codec on any legal content: read and written back it is the same, and texts alone change."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from crosswind.gateway.protocols.document import replace_values
from crosswind.gateway.protocols.json_values import decode, encode
from crosswind.gateway.protocols.messages.codec import CODEC
from crosswind.gateway.protocols.messages.user_content import spans_outside_reminders
from crosswind.injectors.conversation import ToolResult, UserText
from tests.gateway.protocols.codec_laws import (
    assert_only_texts_change,
    assert_written_back_the_same,
    read,
    texts,
)
from tests.gateway.protocols.test_documents import TEXTS, VALUES, raw, same, written

REMINDERS = st.sampled_from(
    ["<system-reminder>now</system-reminder>", "<system-reminder>", "</system-reminder>", " \n"]
)
WORDS = TEXTS | st.lists(TEXTS | REMINDERS, max_size=5).map("".join)
MARKER = st.fixed_dictionaries({}, optional={"cache_control": st.just({"type": "ephemeral"})})


def blocks(kind: str, **members: Any) -> Any:
    made = st.fixed_dictionaries({"type": st.just(kind), **members})
    return st.builds(lambda one, marker: one | marker, made, MARKER)


TEXT = blocks("text", text=WORDS)
OTHERS = st.one_of(
    blocks("image", source=VALUES),
    blocks("document", source=VALUES, title=TEXTS),
    blocks("thinking", thinking=TEXTS, signature=TEXTS),
    blocks("server_tool_use", id=TEXTS, name=TEXTS, input=VALUES),
    blocks("web_search_tool_result", tool_use_id=TEXTS, content=VALUES),
    VALUES,
)
CALL = blocks("tool_use", id=st.sampled_from("ab"), name=st.sampled_from("fg"), input=VALUES)
RESULT = blocks(
    "tool_result",
    tool_use_id=st.sampled_from("ab"),
    content=WORDS | st.lists(TEXT | OTHERS, max_size=3),
    is_error=st.booleans(),
)
MESSAGES = st.lists(
    st.one_of(
        st.fixed_dictionaries(
            {"role": st.just("user"), "content": WORDS | st.lists(TEXT | RESULT | OTHERS, max_size=4)}
        ),
        st.fixed_dictionaries(
            {"role": st.just("assistant"), "content": TEXTS | st.lists(TEXT | CALL | OTHERS, max_size=3)}
        ),
        VALUES.filter(lambda value: isinstance(value, dict)),
    ),
    max_size=5,
)


@given(st.data(), MESSAGES)
def test_read_and_written_back_it_is_the_same(data: Any, value: Any) -> None:
    assert_written_back_the_same(
        CODEC, raw(data.draw(written({"model": "m", "messages": value, "system": "s"})))
    )


@given(st.data(), MESSAGES)
def test_replacements_change_their_own_texts_and_nothing_else(data: Any, value: Any) -> None:
    assert_only_texts_change(data, CODEC, raw(data.draw(written({"messages": value, "model": "m"}))))


def test_a_reminder_that_is_never_closed_is_a_text() -> None:
    """White space around it belongs to it, as in any other text."""
    body = raw(json.dumps({"messages": [{"role": "user", "content": " <system-reminder>"}]}))
    request = read(CODEC, body)
    (ref,) = texts(request)
    again = read(CODEC, request.write({ref: "now"}, {}, same)[0])
    assert texts(request) == {ref: " <system-reminder>"} and texts(again) == {ref: "now"}


@given(WORDS)
def test_own_words_are_what_stands_around_reminders(text: str) -> None:
    spans = spans_outside_reminders(text)
    assert all(0 <= start <= end <= len(text) for start, end in spans)
    assert spans == sorted(spans)
    if "<system-reminder>now" in text:
        assert not any("<system-reminder>now</system-reminder>" in text[start:end] for start, end in spans)


@given(st.data(), VALUES)
def test_splicing_replaces_what_stands_at_a_path(data: Any, value: Any) -> None:
    """Everything around it keeps its bytes, whatever they are."""
    path: list[str | int] = []
    inner = value
    while inner and isinstance(inner, dict | list) and data.draw(st.booleans()):
        key = data.draw(st.sampled_from(sorted(inner) if isinstance(inner, dict) else range(len(inner))))
        path, inner = [*path, key], inner[key]
    text = raw(data.draw(written(value)))
    whole = replace_values(text, {tuple(path): "\x7f"})
    expected: Any = value
    for key in path[:-1]:
        expected = expected[key]
    if path:
        expected[path[-1]] = "\x7f"
    assert decode(whole) == (value if path else "\x7f")
    mark = encode("\x7f")
    if whole.count(mark) == 1 and text.count(mark) == 0:
        head, tail = whole.split(mark)
        assert text.startswith(head) and text.endswith(tail)


def test_ordinals_count_users_turns_and_results() -> None:
    messages = [
        {"role": "user", "content": [{"type": "image", "source": {}}]},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "a"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {"x": 1}}]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "b"}]},
                {"type": "text", "text": "<system-reminder>c</system-reminder>"},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "u", "is_error": True}]},
        {"role": "user", "content": "d"},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "e"}]},
    ]
    items = read(CODEC, json.dumps({"messages": messages}).encode()).conversation.items
    seen = [(type(item), item.text, item.ordinal) for item in items]
    assert seen == [
        (UserText, "a", 1),
        (UserText, "a", 1),
        (ToolResult, "b", 0),
        (UserText, "d", 2),
        (ToolResult, "e", 2),
    ]
    results = [item for item in items if isinstance(item, ToolResult)]
    assert [(one.call.name, one.call.arguments) for one in results] == [("f", '{"x":1}')] * 2
    assert [one.anchor for one in results] == ["call:t#0", "call:t#1"]
    assert len({item.anchor for item in items}) == len(items)


def test_tools_are_the_clients_own() -> None:
    declared = [
        {"name": "a", "description": "A.", "input_schema": {"type": "object"}},
        {"type": "custom", "name": "b", "input_schema": []},
        {"type": "bash_20250124", "name": "bash"},
        {"name": 1},
        "odd",
    ]
    tools = read(CODEC, json.dumps({"messages": [], "tools": declared}).encode()).conversation.tools
    assert [(tool.name, tool.description, tool.parameters) for tool in tools] == [
        ("a", "A.", {"type": "object"}),
        ("b", "", {}),
    ]
