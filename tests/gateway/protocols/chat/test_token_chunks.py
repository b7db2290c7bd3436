"""Streams with tokens in their chunks, read late and all together, come to what they come to one by one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.gateway.http.sse import EventSplitter
from crosswind.gateway.protocols.chat.answer import ChatAnswer
from crosswind.gateway.protocols.choices import ChoicesAnswer
from tests.gateway.protocols.test_events_read_together import relay

TEXTS = st.text(alphabet='aé"\\\n,{}[]:', max_size=5) | st.sampled_from(
    ['"logprobs":null', ',"token_ids":[1]', '"logprobs":{"content":[]}', "tool_calls"]
)
NUMBERS = st.sampled_from([-0.5, -1, 0, -1e-9])
TOP = st.lists(
    st.fixed_dictionaries({"token": TEXTS | st.just("token_id:7"), "logprob": NUMBERS}), max_size=2
)
ENTRIES = st.fixed_dictionaries(
    {
        "token": TEXTS,
        "logprob": NUMBERS | NUMBERS | NUMBERS | st.just("x"),
        "bytes": st.none() | st.just([1]),
    },
    optional={"top_logprobs": TOP | TOP | st.none() | st.just(5)},
)
LOGPROBS = st.fixed_dictionaries({"content": st.lists(ENTRIES, min_size=1, max_size=2)})
CALLS = st.lists(
    st.fixed_dictionaries({"index": st.just(0), "function": st.fixed_dictionaries({"arguments": TEXTS})}),
    max_size=1,
)
DELTAS = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"content": TEXTS}),
    st.fixed_dictionaries({"content": TEXTS}),
    st.fixed_dictionaries({"tool_calls": CALLS}),
    st.fixed_dictionaries({"content": st.none(), "tool_calls": CALLS}),
    st.fixed_dictionaries(
        {"reasoning_content": TEXTS}, optional={"logprobs": LOGPROBS, "token_ids": st.just([1])}
    ),
    st.none(),
)
IDS = st.lists(st.integers(0, 9), min_size=1, max_size=2) | st.none() | st.just(["x"])


@st.composite
def token_chunks(draw: st.DrawFn) -> dict[str, Any]:
    """A chunk as vLLM makes it, and now and then one with something more, less or else."""
    usual = draw(st.integers(0, 3)) > 0
    choice: dict[str, Any] = {
        "index": 0 if usual else draw(st.integers(0, 1)),
        "delta": draw(DELTAS),
        "logprobs": draw(LOGPROBS if usual else LOGPROBS | st.none()),
        "finish_reason": None if usual else draw(st.sampled_from([None, "stop", "length"])),
        "token_ids": draw(IDS),
    }
    if not usual:
        choice |= draw(st.sampled_from([{}, {"weight_versions": [{"version": "a", "start": 0, "end": 1}]}]))
        for name in draw(st.lists(st.sampled_from(["logprobs", "token_ids", "index"]), max_size=1)):
            del choice[name]
    chunk = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    if not usual:
        chunk |= draw(
            st.sampled_from([{}, {"usage": None}, {"usage": {"completion_tokens": 2}}, {"more": 1}])
        )
    return chunk


@st.composite
def streams(draw: st.DrawFn) -> list[bytes]:
    first = {
        "id": "x",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "prompt_token_ids": [1],
    }
    first |= {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]}
    chunks = draw(st.sampled_from([[first], []])) + draw(st.lists(token_chunks(), max_size=8))
    out = []
    for chunk in chunks:
        tight = draw(st.integers(0, 4)) > 0
        data = json.dumps(chunk, ensure_ascii=draw(st.booleans()), separators=(",", ":") if tight else None)
        out.append(b"data: " + data.encode() + b"\n\n")
    return [*out, b"data: [DONE]\n\n"]


def one_by_one(asked: frozenset[str], choices: int) -> ChatAnswer:
    answer = ChatAnswer(choices=choices, captured=True, asked=asked)
    answer._tokens = None
    return answer


def said(raw: bytes) -> list[Any]:
    """What the client is told, whatever its bytes."""
    events = [event.data for event in EventSplitter(1 << 20).feed(raw)]
    return [data if data == b"[DONE]" else json.loads(data) for data in events]


@settings(deadline=None)
@given(
    streams(), st.sampled_from([frozenset[str](), frozenset({"usage"}), frozenset({"logprobs"})]), st.data()
)
def test_it_comes_to_the_same(events: list[bytes], asked: frozenset[str], data: st.DataObject) -> None:
    choices = data.draw(st.sampled_from([1, 1, 2]))
    late, at_once = ChatAnswer(choices=choices, captured=True, asked=asked), one_by_one(asked, choices)
    ways = relay(late), relay(at_once)
    for event in events:
        outs = [way.feed(event) for way in ways]
        assert said(outs[0]) == said(outs[1])
        if data.draw(st.booleans()):
            assert late.finished == at_once.finished
    assert said(ways[0].release()) == said(ways[1].release())
    for one in ("finished", "usage", "error", "prompt_ids"):
        assert getattr(late, one) == getattr(at_once, one)
    assert late.produced_body() == at_once.produced_body()
    assert late.completions() == at_once.completions()
    assert late.fitness() == at_once.fitness()


@pytest.mark.parametrize("delta", [{"content": " b"}, {"tool_calls": [{"index": 0, "id": "c"}]}, {}])
def test_an_engines_chunk_is_not_read_whole(delta: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it were, all would be right still, and slow."""
    answer = ChatAnswer(choices=1, captured=True, asked=frozenset())
    head = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    entry = {"token": "a", "logprob": -1.5, "bytes": [97], "top_logprobs": []}
    more = {"logprobs": {"content": [entry]}, "finish_reason": None, "token_ids": [5]}
    chunks = [
        head | {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "a"}}]},
        head | {"choices": [{"index": 0, "delta": delta, **more}]},
    ]
    way = relay(answer)
    way.feed(b"data: %b\n\n" % json.dumps(chunks[0]).encode())
    monkeypatch.delattr(ChoicesAnswer, "_strip")
    out = way.feed(b"data: %b\n\n" % json.dumps(chunks[1], separators=(",", ":")).encode())
    without = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}
    assert said(out) == ([head | {"choices": [without]}] if delta else [])
    (completion,) = answer.completions()
    assert (completion.token_ids, completion.logprobs) == ((5,), (-1.5,))
