"""Messages' streams that are read late, many events at once, come to what they come to event by event."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.gateway.http.sse import EventSplitter
from crosswind.gateway.protocols.messages import text_deltas
from crosswind.gateway.protocols.messages.answer import MessagesAnswer
from tests.gateway.protocols.test_events_read_together import relay

TEXTS = st.text(alphabet='aé"\\\n,{}[]:\ud83d', max_size=5) | st.sampled_from(['"type":"message_stop"', "}}"])
DELTAS = st.one_of(
    st.builds(lambda text: {"type": "text_delta", "text": text}, TEXTS),
    st.builds(lambda text: {"type": "text_delta", "text": text}, TEXTS),
    st.builds(lambda text: {"type": "thinking_delta", "thinking": text}, TEXTS),
    st.builds(lambda text: {"type": "signature_delta", "signature": text}, TEXTS),
    st.builds(lambda text: {"type": "input_json_delta", "partial_json": text}, TEXTS),
    st.just({"type": "text_delta"}),
    st.just({"type": "text_delta", "text": "a", "more": 1}),
    st.just({"type": "other", "text": "b"}),
)
EVENTS = st.one_of(
    st.builds(
        lambda index, delta: {"type": "content_block_delta", "index": index, "delta": delta},
        st.integers(0, 1), DELTAS,
    ),
    st.builds(
        lambda index, block: {"type": "content_block_start", "index": index, "content_block": block},
        st.integers(0, 1), st.just({"type": "text", "text": "x"}),
    ),
    st.just({"type": "content_block_stop", "index": 0}),
    st.just({"type": "ping"}),
    st.just({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}}),
)  # fmt: skip
START = {"type": "message_start", "message": {"id": "m", "role": "assistant", "usage": {"input_tokens": 1}}}


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    """A stream as servers spell it: with spaces, padding, other names, any line end, and members twice."""
    out = []
    for event in [START, *draw(st.lists(EVENTS, max_size=10)), {"type": "message_stop"}]:
        tight = draw(st.booleans())
        data = json.dumps(event, ensure_ascii=draw(st.booleans()), separators=(",", ":") if tight else None)
        odd = draw(st.integers(0, 19))
        if odd == 0:
            data = data[:-1] + ',"type":"message_stop"}'
        elif odd == 1:
            data = draw(st.sampled_from(["5", "{", "[]"]))
        end = "\r\n" if odd == 2 else "\n"
        name = "x" if odd == 3 else event["type"]
        pad = draw(st.sampled_from(["", "", "   "]))
        out.append(f"event: {name}{end}data: {data[:-1]}{pad}{data[-1:]}{pad}{end}{end}")
    return "".join(out).encode("utf-8", "surrogatepass")


def told(answer: MessagesAnswer) -> list[Any]:
    return [answer.produced_body(), answer.finished, answer.usage, answer.fitness(), answer.block(0)]


@settings(deadline=None)
@given(streams(), st.data())
def test_it_comes_to_the_same(stream: bytes, data: st.DataObject) -> None:
    late, at_once = MessagesAnswer(), MessagesAnswer()
    way = relay(late)
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=5))
    with patch.object(text_deltas, "_MOST", data.draw(st.sampled_from([1 << 13, 300, 0]))):
        parts = [way.feed(stream[start:end]) for start, end in pairwise([0, *sorted(cuts), len(stream)])]
    out = b"".join(parts) + way.finish()
    for event in EventSplitter(1 << 20).feed(stream):
        chunk = at_once.read_event(event)
        if chunk.completing:
            assert not out.endswith(event.raw)
    assert out + way.release() == stream
    assert told(late) == told(at_once)


def test_what_only_adds_to_a_text_is_deferred() -> None:
    event = b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":%b}  \n\n'
    text = event % b'{"type":"text_delta","text":"a \\"b\\" \\u00e9"}'
    thought = event % b'{"type":"thinking_delta","thinking":"}}"}'
    assert text_deltas.count_deferrable(text + thought) == len(text + thought)
    for rest in (
        text[:-1],
        event % b'{"type":"input_json_delta","partial_json":"{"}',
        event % b'{"type":"text_delta","text":"a","type":"other"}',
        b'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    ):
        assert text_deltas.count_deferrable(text + rest) == len(text)
