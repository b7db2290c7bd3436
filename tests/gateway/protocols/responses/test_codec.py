"""The Responses codec on any items: read and written back they are the same, and texts alone change."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from crosswind.gateway.http.sse import SseEvent
from crosswind.gateway.protocols.json_values import decode
from crosswind.gateway.protocols.responses.answer import ResponsesAnswer
from crosswind.gateway.protocols.responses.codec import CODEC
from crosswind.injectors.conversation import ToolResult, UserText
from tests.gateway.protocols.codec_laws import assert_only_texts_change, assert_written_back_the_same, read
from tests.gateway.protocols.test_documents import TEXTS, VALUES, raw, same, written

TEXT = st.builds(lambda text: {"type": "input_text", "text": text}, TEXTS)
OTHERS = st.one_of(
    st.builds(lambda url: {"type": "input_image", "image_url": url, "detail": "auto"}, TEXTS),
    st.builds(lambda name: {"type": "input_file", "filename": name}, TEXTS),
    st.builds(lambda text: {"type": "output_text", "text": text, "annotations": []}, TEXTS),
    VALUES,
)
CONTENT = TEXTS | st.lists(TEXT | OTHERS, max_size=4)
IDS = st.sampled_from(["a", "b", "", None])


def items(kind: str, **members: Any) -> Any:
    return st.fixed_dictionaries({"type": st.just(kind)} | members, optional={"id": TEXTS, "status": TEXTS})


ITEMS = st.one_of(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "developer"]), "content": CONTENT}),
    items("message", role=st.sampled_from(["user", "assistant", "system"]), content=CONTENT),
    items("function_call", call_id=IDS, name=st.sampled_from("fg"), arguments=TEXTS | st.just("{}")),
    items("function_call_output", call_id=IDS, output=CONTENT),
    items("custom_tool_call", call_id=IDS, name=st.sampled_from("fg"), input=TEXTS),
    items("custom_tool_call_output", call_id=IDS, output=CONTENT),
    items("reasoning", summary=VALUES, encrypted_content=TEXTS),
    items("item_reference"),
    items("compaction", encrypted_content=TEXTS),
    VALUES.filter(lambda value: isinstance(value, dict)),
)
INPUTS = TEXTS | st.lists(ITEMS, max_size=6)


@given(st.data(), INPUTS)
def test_read_and_written_back_it_is_the_same(data: Any, value: Any) -> None:
    assert_written_back_the_same(
        CODEC, raw(data.draw(written({"model": "m", "input": value, "instructions": "s"})))
    )


@given(st.data(), INPUTS)
def test_replacements_change_their_own_texts_and_nothing_else(data: Any, value: Any) -> None:
    assert_only_texts_change(data, CODEC, raw(data.draw(written({"input": value, "model": "m"}))))


def test_an_input_may_be_missing() -> None:
    for body in (b'{"model": "m", "prompt": {"id": "p"}}', b'{"input": null}', b'{"input": []}', b"{ }"):
        request = read(CODEC, body)
        assert request.conversation.items == ()
        assert request.stored_view(same).bytes() == body
        assert request.write({}, {}, same)[0] == body


@given(VALUES)
def test_what_is_no_request_is_left_alone(value: Any) -> None:
    split = CODEC.split(raw(json.dumps(value)))
    if split is not None:
        assert isinstance(value, dict)
    for odd in (7, [7], {"a": 1}, True, ["a"]):
        assert CODEC.split(json.dumps({"input": odd}).encode()) is None


def test_ordinals_count_users_turns_and_results() -> None:
    given_items = [
        {"role": "user", "content": [{"type": "input_image", "image_url": "data:,"}]},
        {
            "role": "user",
            "content": [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "a"}],
        },
        {"type": "function_call", "call_id": "t", "name": "f", "arguments": '{"x": 1}'},
        {"type": "function_call", "call_id": "u", "name": "g", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "u", "output": [{"type": "input_text", "text": "b"}]},
        {"type": "function_call_output", "call_id": "t", "output": "c"},
        {"type": "function_call_output", "call_id": "v", "output": [{"type": "input_image"}]},
        {"type": "message", "role": "user", "content": "d"},
        {"type": "function_call_output", "call_id": "t", "output": "e"},
    ]
    found = read(CODEC, json.dumps({"input": given_items}).encode()).conversation.items
    assert [(type(item), item.text, item.ordinal) for item in found] == [
        (UserText, "a", 1),
        (UserText, "a", 1),
        (ToolResult, "b", 0),
        (ToolResult, "c", 1),
        (UserText, "d", 2),
        (ToolResult, "e", 3),
    ]
    results = [item for item in found if isinstance(item, ToolResult)]
    assert [(one.call.name, one.call.arguments) for one in results] == [
        ("g", "{}"),
        ("f", '{"x": 1}'),
        ("f", '{"x": 1}'),
    ]
    assert [one.anchor for one in results] == ["call:u#0", "call:t#0", "call:t#1"]


def test_tools_are_the_clients_own_functions() -> None:
    declared = [
        {"type": "function", "name": "a", "description": "A.", "parameters": {"type": "object"}},
        {"type": "function", "name": "b", "parameters": None},
        {"type": "custom", "name": "c"},
        {"type": "web_search"},
        {"type": "namespace", "name": "n", "tools": [{"type": "function", "name": "x"}]},
        {"type": "function", "name": 1},
        "odd",
    ]
    tools = read(CODEC, json.dumps({"input": "hi", "tools": declared}).encode()).conversation.tools
    assert [(tool.name, tool.description, tool.parameters) for tool in tools] == [
        ("a", "A.", {"type": "object"}),
        ("b", "", {}),
    ]


KINDS = st.sampled_from(
    [
        "response.created",
        "response.completed",
        "response.failed",
        "response.output_item.added",
        "response.output_item.done",
        "response.content_part.added",
        "response.output_text.delta",
        "response.function_call_arguments.delta",
        "response.reasoning_summary_text.delta",
        "error",
        "odd",
    ]
)
MEMBERS = {
    "response": VALUES | st.fixed_dictionaries({"status": TEXTS, "output": VALUES, "usage": VALUES}),
    "item": VALUES | ITEMS,
    "part": VALUES | TEXT,
    "delta": VALUES | TEXTS,
    "output_index": VALUES | st.integers(0, 2),
    "content_index": VALUES | st.integers(0, 2),
    "error": VALUES,
}
EVENTS = st.builds(
    lambda kind, members: {"type": kind, **members},
    KINDS | VALUES,
    st.fixed_dictionaries({}, optional=MEMBERS),
)


@given(st.lists(EVENTS, max_size=8))
def test_whatever_a_stream_says_it_is_relayed(events: list[Any]) -> None:
    answer = ResponsesAnswer()
    for one in events:
        data = raw(json.dumps(one, ensure_ascii=False))
        assert answer.read_event(SseEvent(b"raw", data)).raw == b"raw"
        decode(answer.produced_body())
        assert isinstance(answer.fitness(), str)
        assert answer.error is None or isinstance(answer.error, dict)
        assert isinstance(answer.usage, dict) and len(answer.completions()) <= 1


@given(VALUES)
def test_whatever_a_body_says_it_is_relayed(value: Any) -> None:
    answer = ResponsesAnswer()
    body = raw(json.dumps(value))
    assert answer.read_body(body) is body is answer.produced_body()
    assert isinstance(answer.fitness(), str) and isinstance(answer.usage, dict)
    assert len(answer.completions()) <= 1
