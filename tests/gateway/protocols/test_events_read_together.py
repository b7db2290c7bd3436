"""Streams whose events are read together come to what they come to event by event."""

from __future__ import annotations

import json
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.gateway.config.settings import Settings
from crosswind.gateway.http.content_encoding import ContentDecoder
from crosswind.gateway.http.sse import EventSplitter, SseEvent
from crosswind.gateway.protocols.answer import UNREAD, Passage
from crosswind.gateway.protocols.chat.answer import ChatAnswer
from crosswind.gateway.protocols.completions.answer import CompletionsAnswer
from crosswind.gateway.proxy.stream import StreamRelay
from crosswind.testing.replies import DONE

TEXTS = st.text(alphabet='aé"\\\n\u00ff,{}[]:', max_size=6) | st.sampled_from(
    ['"finish_reason":null', "[DONE]"]
)
FINISHES = st.sampled_from([None, None, None, None, "stop", "length"])
CALLS = st.lists(
    st.fixed_dictionaries(
        {"index": st.integers(0, 1), "function": st.fixed_dictionaries({"arguments": TEXTS})},
        optional={"id": st.just("c1")},
    ),
    max_size=2,
)
DELTAS = st.fixed_dictionaries(
    {},
    optional={"role": st.just("assistant"), "content": TEXTS | st.none(), "more": TEXTS, "tool_calls": CALLS},
)
WIDE = st.fixed_dictionaries(
    {"content": TEXTS | st.none()},
    optional={
        "role": st.sampled_from(["assistant", "user", "", None]),
        "reasoning_content": TEXTS | st.none(),
        "refusal": st.none(),
        "tool_calls": st.none(),
    },
)
CHOICES = st.fixed_dictionaries(
    {"index": st.integers(0, 1), "delta": DELTAS, "finish_reason": FINISHES}, optional={"text": TEXTS}
)
CHUNKS = st.fixed_dictionaries(
    {"id": st.just("x"), "choices": st.lists(CHOICES, max_size=2)},
    optional={"usage": st.just({"completion_tokens": 3}) | st.none(), "error": st.just({"message": "no"})},
)
TOKENS = st.builds(
    lambda delta, index, more: {
        "id": "x",
        "choices": [{"index": index, "delta": delta, "logprobs": None, "finish_reason": None}],
        **more,
    },
    TEXTS.map(lambda text: {"content": text}) | WIDE,
    st.sampled_from([0, 0, 0, 1]),
    st.sampled_from([{}, {}, {"usage": None}, {"service_tier": "x"}, {"service_tier": None}, {"other": 1}]),
)


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    """A stream as servers spell it: with spaces, escapes, comments, event names and any line end."""
    end = draw(st.sampled_from([b"\n", b"\n", b"\r\n"]))
    events = []
    for chunk in draw(st.lists(CHUNKS, max_size=6) | st.lists(TOKENS | TOKENS | CHUNKS, max_size=9)):
        tight = draw(st.booleans())
        data = json.dumps(chunk, ensure_ascii=draw(st.booleans()), separators=(",", ":") if tight else None)
        if draw(st.integers(0, 9)) == 0:
            data = draw(
                st.sampled_from(["{", "5", "null", '{"a":1},{"b":2}', data.replace("finish", "\\u0066inish")])
            )
        head = draw(st.sampled_from([b"", b"", b"", b": ping" + end + end, b"event: x" + end]))
        space = draw(st.sampled_from([b" ", b" ", b""]))
        events.append(head + b"data:" + space + data.encode() + end + end)
    if draw(st.booleans()):
        events.append(b"data: [DONE]" + end + end)
    return b"".join(events)


PIECES = st.sampled_from(
    [
        b"a",
        b"",
        b" b",
        b",",
        b"\\n",
        b'\\"',
        b"\\\\",
        b"\\u00e9",
        "\u00e9".encode(),
        b'\\"finish_reason\\":1',
        b"[DONE]",
    ]
)
ODD = st.sampled_from(
    [
        b"\\",
        b'"',
        b"\\ud83d",
        b"\\ude00",
        b"\\u00",
        b"\xe2",
        b"\x82\xac",
        b"\x00",
        b"\x7f",
        b'"},"finish_reason":"stop',
    ]
)
FRAMES = st.sampled_from(
    [
        (b'{"id":"x","choices":[{"index":0,"delta":{"content":"', b'"},"finish_reason":null}]}'),
        (b'{"id": "x", "choices": [{"index": 1, "delta": {"content": "', b'", "refusal": null}}]}'),
        (b'{"choices":[{"index":0,"other":{"content":"a"},"delta":{"content":"', b'"}}],"n":1}'),
        (b'{"choices":[{"index":0,"delta":{"content":"a","content":"', b'"}}]}'),
        (b'{"choices":[{"index":0,"delta":{"role":"assistant","content":"', b'"}}],"usage":null}'),
        (b'{"choices":[{"index":0,"delta":{"content":"', b'"},"logprobs":null}],"error":{"message":"no"}}'),
        (b'{"id":"\xff","choices":[{"index":0,"delta":{"content":"', b'"}}]}'),
    ]
)


@st.composite
def framed(draw: st.DrawFn) -> bytes:
    """A stream as one server spells it, with what texts have in them, and now and then what they can't."""
    head, tail = draw(FRAMES)
    odd = draw(st.booleans())
    pieces = draw(st.lists(PIECES | ODD if odd else PIECES, max_size=12))
    events = [b"data: %b%b%b\n\n" % (head, piece, tail) for piece in pieces]
    for other in draw(st.lists(st.sampled_from([b": ping\n\n", b"data: 5\n\n", b"\n\n"]), max_size=2)):
        events.insert(draw(st.integers(0, len(events))), other)
    end = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    return b"".join(events) + draw(st.sampled_from([b"", end]))


class Feed(StreamRelay):
    """A relay that only feeds: it sends nothing, and records nothing."""

    feed = StreamRelay._feed

    def finish(self) -> bytes:
        """What came after the last blank line."""
        rest = None if self._splitter is None else self._splitter.rest()
        return self._read(rest) if rest else b""

    def release(self) -> bytes:
        return bytes(self._held)


def relay(answer: Any) -> Feed:
    exchange: Any = SimpleNamespace(answer=answer, edited=False)
    none: Any = None
    decoding, given = ContentDecoder("", 1 << 20), Settings(upstream="http://localhost/v1")
    return Feed(none, exchange, none, decoding, given, none)


@settings(deadline=None)
@given(streams() | framed(), st.data(), st.sampled_from([ChatAnswer, ChatAnswer, CompletionsAnswer]))
def test_it_comes_to_the_same(stream: bytes, data: st.DataObject, kind: Any) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=5))
    if data.draw(st.booleans()):
        cuts = [at + 2 for at in range(len(stream)) if stream[at : at + 2] == b"\n\n"]
    together, at_once = (kind(choices=1, captured=False, asked=frozenset()) for _ in range(2))
    way = relay(together)
    parts = [way.feed(stream[start:end]) for start, end in pairwise([0, *sorted(cuts), len(stream)])]
    out = b"".join(parts) + way.finish()
    assert out + way.release() == stream
    splitter = EventSplitter(1 << 20)
    for event in [*splitter.feed(stream), *filter(None, [splitter.rest()])]:
        chunk = at_once.read_event(event)
        # What completes the answer, and all behind it, is held.
        if chunk.completing:
            assert not out.endswith(event.raw)
    for one in ("finished", "usage", "error"):
        assert getattr(together, one) == getattr(at_once, one)
    assert together.produced_body() == at_once.produced_body()
    assert together.completions() == at_once.completions()
    assert together.fitness() == at_once.fitness()


@settings(deadline=None)
@given(st.binary(max_size=40).map(lambda raw: raw.replace(b"\x00", b"\n").replace(b"\x01", b"\r")), st.data())
def test_events_are_the_same_in_any_split(raw: bytes, data: st.DataObject) -> None:
    """Where no line end is cut in two: a carriage return alone ends a line too."""
    cuts = data.draw(st.lists(st.integers(0, len(raw)), max_size=8))
    cuts = [at for at in cuts if raw[at - 1 : at] != b"\r"]
    whole, parts = EventSplitter(1 << 20), EventSplitter(1 << 20)
    together = whole.feed(raw)
    apart = [
        event for start, end in pairwise([0, *sorted(cuts), len(raw)]) for event in parts.feed(raw[start:end])
    ]
    assert [event.raw for event in apart] == [event.raw for event in together]
    assert parts.rest() == whole.rest()


def test_a_servers_usual_chunks_are_read_together() -> None:
    """Were they not, all would be right still, and slow."""
    start = b'data: {"id":"x","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n'
    head = b'data: {"id":"x","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null'
    text = head + b"}]}\n\n"
    finish = b'data: {"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}\n\n'
    usage = b'data: {"id":"x","choices":[],"usage":{"completion_tokens":2}}\n\n'
    for events, passage in (
        (text + text, Passage(2 * len(text))),
        (text + text + head, Passage(2 * len(text))),
        (head, UNREAD),
        (text + finish + usage + DONE, Passage(len(text + finish + usage + DONE), len(text), ended=True)),
        (usage + DONE, Passage(len(usage + DONE), ended=True)),
        (DONE, Passage(len(DONE), ended=True)),
        (text.replace(b'{"content":"a"}', b'{"role":null,"content":"a"}'), Passage(len(text) + 12)),
        (head + b"}]}\r\n\r\n", UNREAD),
        (head + b"}]\n}\n\n", UNREAD),
        (head + b',"tool_calls":[]}]}\n\n', UNREAD),
        (text + b": ping\n\n", UNREAD),
        (text.replace(b'"x"', b'"x","model":"new"'), UNREAD),
    ):
        answer = ChatAnswer(choices=1, captured=False, asked=frozenset())
        answer.read_event(SseEvent(start, start[6:-2]))
        assert answer.read_events(events) == passage, events
