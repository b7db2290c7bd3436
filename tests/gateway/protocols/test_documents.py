"""Bodies are split without losing a byte, reader are read once, and events are cut where they end."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from crosswind.gateway.http.sse import EventSplitter, read_event_data, replace_event_data
from crosswind.gateway.protocols.chat.codec import CODEC
from crosswind.gateway.protocols.codec import SessionReader
from crosswind.gateway.protocols.document import Document
from crosswind.gateway.protocols.request import Request
from crosswind.injectors.conversation import Ref, ToolResult, UserText

SPACE = st.text(" \t\r\n", max_size=3)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(codec=None, exclude_categories=()), max_size=8)  # lone surrogates among them
VALUES = st.recursive(
    SCALARS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@st.composite
def written(draw: Any, value: Any) -> str:
    """A JSON text of the value, with white space and escapes at will."""
    gap = lambda: draw(SPACE)  # noqa: E731
    if isinstance(value, dict):
        members = [
            gap() + json.dumps(k) + gap() + ":" + gap() + draw(written(v)) + gap() for k, v in value.items()
        ]
        return "{" + ",".join(members) + ("" if members else gap()) + "}"
    if isinstance(value, list):
        return (
            "["
            + ",".join(gap() + draw(written(one)) + gap() for one in value)
            + ("" if value else gap())
            + "]"
        )
    return json.dumps(value, ensure_ascii=draw(st.booleans()))


def raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


@given(st.data(), st.dictionaries(TEXTS, VALUES, max_size=5))
def test_members_are_found_where_they_stand(data: Any, value: dict[str, Any]) -> None:
    body = raw(data.draw(SPACE) + data.draw(written(value)) + data.draw(SPACE))
    document = Document.parse(body)
    assert document is not None
    assert {name: document.value(name) for name in document.members} == value
    rebuilt = (
        document.opening
        + b"".join(lead + text for _, lead, text in document.members_with({}))
        + document.closing
    )
    assert rebuilt == body


@given(st.data(), st.dictionaries(TEXTS, VALUES, max_size=5))
def test_edits_change_what_they_name_and_nothing_else(data: Any, value: dict[str, Any]) -> None:
    document = Document.parse(raw(data.draw(written(value))))
    assert document is not None
    names = st.sampled_from([*value, "new"])
    edits = data.draw(st.dictionaries(names, st.sampled_from([b"1", b'{"a":[2]}', None]), max_size=4))
    members = document.members_with(edits)
    edited = document.opening + b"".join(lead + text for _, lead, text in members) + document.closing
    expected = value | {name: json.loads(text) for name, text in edits.items() if text is not None}
    assert json.loads(edited) == {k: v for k, v in expected.items() if edits.get(k, b"") is not None}


@given(st.binary(max_size=40) | st.text('{}[]",:0a\\', max_size=25).map(str.encode))
def test_whatever_is_no_object_is_left_alone(body: bytes) -> None:
    document = Document.parse(body)
    if document is not None:
        json.loads(body)
        parts = document.members_with({})
        assert document.opening + b"".join(lead + text for _, lead, text in parts) + document.closing == body


MESSAGES = st.lists(
    st.one_of(
        st.fixed_dictionaries({"role": st.just("user"), "content": TEXTS}),
        st.fixed_dictionaries(
            {
                "role": st.just("user"),
                "content": st.lists(st.builds(lambda t: {"type": "text", "text": t}, TEXTS), max_size=2),
            }
        ),
        st.builds(
            lambda ids: {
                "role": "assistant",
                "tool_calls": [{"id": i, "function": {"name": f"f{i}", "arguments": "{}"}} for i in ids],
            },
            st.lists(st.sampled_from(["a", "b", ""]), max_size=3),
        ),
        st.builds(
            lambda i, t: {"role": "tool", "tool_call_id": i, "content": t},
            st.sampled_from(["a", "b", ""]),
            TEXTS,
        ),
        VALUES.filter(lambda value: isinstance(value, dict)),
    ),
    max_size=8,
)


def same(segment: bytes) -> bytes:
    return segment


def read(messages: Any, reader: SessionReader, **more: Any) -> Request:
    split = CODEC.split(json.dumps({"messages": messages, "model": "m", **more}).encode())
    assert split is not None
    return CODEC.read(split, reader, same)


@given(MESSAGES, st.data())
def test_a_history_read_turn_by_turn_is_the_one_read_at_once(messages: list[Any], data: Any) -> None:
    reader = SessionReader(CODEC)
    for _ in range(4):
        # Turns that go on, go back, fork and repeat.
        length = data.draw(st.integers(0, len(messages)))
        tail = data.draw(st.sampled_from([[], [{"role": "user", "content": "fork"}]]))
        turn = read([*messages[:length], *tail], reader)
        assert (
            turn.conversation.items
            == read([*messages[:length], *tail], SessionReader(CODEC)).conversation.items
        )
        assert turn.stored_view(same).bytes() == turn.split.document.body
        assert turn.write({}, {}, same)[0] == turn.split.document.body


@given(MESSAGES, st.data())
def test_replacements_are_written_where_they_belong(messages: list[Any], data: Any) -> None:
    request = read(messages, SessionReader(CODEC))
    items = request.conversation.items
    chosen = (
        data.draw(st.lists(st.sampled_from(items), unique_by=lambda item: item.ref, max_size=3))
        if items
        else []
    )
    texts: dict[Ref, str] = {item.ref: data.draw(TEXTS) for item in chosen}
    body, view = request.write(texts, {}, same)
    assert view.bytes() == body
    after = json.loads(body)["messages"]
    expected = json.loads(json.dumps(messages))
    for ref, text in texts.items():
        if ref.part is None:
            expected[ref.message]["content"] = text
        else:
            expected[ref.message]["content"][ref.part]["text"] = text
    assert after == expected


def test_anchors_are_unique_and_results_know_their_calls() -> None:
    calls = [
        {"id": "a", "function": {"name": "f", "arguments": '{"x":1}'}},
        {"id": "", "function": {"name": "g"}},
    ]
    messages = [
        {"role": "user", "content": "again"},
        {"role": "assistant", "tool_calls": calls},
        {
            "role": "tool",
            "tool_call_id": "a",
            "content": [{"type": "text", "text": "1"}, {"type": "text", "text": "2"}],
        },
        {"role": "tool", "content": "3"},
        {"role": "assistant", "tool_calls": [calls[0] | {"function": {"name": "h", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "a", "content": "4"},
        {"role": "tool", "tool_call_id": "unknown", "content": "5"},
        {"role": "user", "content": "again"},
    ]
    items = read(messages, SessionReader(CODEC)).conversation.items
    assert len({item.anchor for item in items}) == len(items) == 7
    results = [item for item in items if isinstance(item, ToolResult)]
    assert [item.call.name for item in results] == ["f", "f", "g", "h", ""]
    assert [item.ordinal for item in results] == [0, 0, 1, 2, 3]
    assert [item.ordinal for item in items if isinstance(item, UserText)] == [0, 1]


def test_a_turn_reads_only_what_is_new(monkeypatch: Any) -> None:
    reader = SessionReader(CODEC)
    messages = [{"role": "user", "content": f"message {number}"} for number in range(50)]
    first = read(messages, reader)
    messages_read: list[bytes] = []
    read_one = CODEC.message_format.read
    monkeypatch.setattr(CODEC.message_format, "read", lambda raw: messages_read.append(raw) or read_one(raw))
    second = read([*messages, {"role": "user", "content": "new"}], reader)
    assert len(messages_read) == 1
    assert second.chain is not None and second.chain.parent is first.chain


def test_capture_keeps_a_clients_own_stream_options() -> None:
    request = read([], SessionReader(CODEC), stream=True, stream_options={"continuous_usage_stats": True})
    edits, _ = CODEC.capture_edits(request, training=False, top=0)
    assert json.loads(edits["stream_options"] or b"") == {
        "continuous_usage_stats": True,
        "include_usage": True,
    }


@given(
    st.lists(
        st.sampled_from(
            [b"data: {}", b"data:x\ndata: y", b": hi", b"event: e\r\ndata: 1", b"id: 1\rdata: 2"]
        ),
        max_size=5,
    ),
    st.sampled_from([b"\n\n", b"\r\n\r\n", b"\r\r"]),
    st.data(),
)
def test_events_keep_their_bytes_however_they_arrive(events: list[bytes], end: bytes, data: Any) -> None:
    stream = b"".join(event + end for event in events) + b"data: rest"
    splitter, got, position = EventSplitter(1000), [], 0
    while position < len(stream):
        step = data.draw(st.integers(1, 12))
        got += splitter.feed(stream[position : position + step])
        position += step
    rest = splitter.rest()
    assert b"".join(event.raw for event in got) + (rest.raw if rest else b"") == stream
    assert [event.data for event in got] == [read_event_data(event) for event in events]


def test_an_event_above_the_limit_is_relayed_unseen() -> None:
    splitter = EventSplitter(10)
    (event,) = splitter.feed(b"data: 0123456789")
    assert (event.raw, event.data) == (b"data: 0123456789", b"")


def test_other_data_keeps_the_events_other_lines() -> None:
    (event,) = EventSplitter(100).feed(b"event: delta\nid: 7\ndata: {}\n\n")
    assert replace_event_data(event, b"[1]") == b"event: delta\nid: 7\ndata: [1]\n\n"


def test_a_byte_order_mark_begins_a_stream_and_belongs_to_no_line_of_it() -> None:
    splitter = EventSplitter(100)
    first, second = [
        event for byte in b"\xef\xbb\xbfdata: {}\n\ndata: 1\n\n" for event in splitter.feed(bytes([byte]))
    ]
    assert (first.data, second.data) == (b"{}", b"1")
    assert replace_event_data(first, b"[]") == b"\xef\xbb\xbfdata: []\n\n"


def test_texts_are_replaced_beside_what_strict_decoders_refuse() -> None:
    parts = [{"type": "text", "text": "\ud800"}, {"type": "image_url", "image_url": {"url": "\udc00"}}]
    request = read(
        [{"role": "user", "content": [*parts, {"type": "text", "text": "b"}]}], SessionReader(CODEC)
    )
    first, second = request.conversation.items
    body, _ = request.write({first.ref: "a", second.ref: "\ud801"}, {}, same)
    assert json.loads(body)["messages"][0]["content"] == [
        {"type": "text", "text": "a"},
        parts[1],
        {"type": "text", "text": "\ud801"},
    ]
