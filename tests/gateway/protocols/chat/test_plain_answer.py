"""A plain answer of which only what is recorded is read comes to what it comes to when all of it is read."""

from __future__ import annotations

import json
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.gateway.protocols.chat import answer as module
from crosswind.gateway.protocols.chat.answer import ChatAnswer
from crosswind.gateway.protocols.choices import ChoicesAnswer

ODD = st.sampled_from([None, 5, "", "x", [], {}, True, -1.5])
MESSAGES = st.fixed_dictionaries(
    {"role": st.just("assistant"), "content": st.text(alphabet='aé"\\\ud83d', max_size=4) | ODD},
    optional={"tool_calls": st.just([{"index": 0, "id": "c", "function": {"name": "f"}}]) | ODD},
)
CHOICES = st.fixed_dictionaries(
    {"index": st.sampled_from([0, 0, 0, 1]) | ODD, "message": MESSAGES | ODD},
    optional={
        "finish_reason": st.sampled_from(["stop", "length", "abort"]) | ODD,
        "logprobs": st.just({"content": [{"token": "a", "logprob": -0.5}]}) | ODD,
        "token_ids": st.just([1]) | ODD,
        "weight_versions": st.just([{"version": "a", "start": 0, "end": 1}]) | ODD,
        "more": ODD,
    },
)
ANSWERS = st.fixed_dictionaries(
    {"id": st.just("x") | ODD, "choices": st.lists(CHOICES | CHOICES | ODD, max_size=3) | ODD},
    optional={
        "model": st.just("m") | ODD,
        "created": ODD,
        "usage": st.just({"completion_tokens": 1, "details": {"cached": 2}}) | ODD,
        "error": st.just({"message": "no"}) | ODD,
        "prompt_token_ids": st.just([1, 2]) | ODD,
    },
)
SPOILED = st.sampled_from([b"", b"{", b"[]", b'{"id":"\xff"}', b'{"choices":[],"x":"\xed\xa0\x80"}', b"{}x"])


def told(answer: ChatAnswer) -> list[Any]:
    return [
        answer.produced_body(), answer.finished, answer.usage, answer.error, answer.fitness(),
        answer.completions(), answer.prompt_ids, answer.head_text("id"), answer.head_text("model"),
        answer.content(), answer.content(),
    ]  # fmt: skip


@settings(deadline=None)
@given(ANSWERS.map(lambda made: json.dumps(made).encode()) | SPOILED, st.integers(1, 2))
def test_it_comes_to_the_same(body: bytes, choices: int) -> None:
    skimmed, read = (ChatAnswer(choices=choices, captured=False, asked=frozenset()) for _ in range(2))
    assert skimmed.read_body(body) is body
    with patch.object(module, "read_plain", lambda _: None):
        assert read.read_body(body) is body
    assert told(skimmed) == told(read)


def test_an_answer_without_tokens_is_not_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were it, all would be right still, and slow."""
    monkeypatch.delattr(ChoicesAnswer, "_take")
    answer = ChatAnswer(choices=1, captured=False, asked=frozenset())
    choice = {"index": 0, "message": {"content": "é"}, "finish_reason": "stop", "logprobs": None}
    answer.read_body(json.dumps({"id": "x", "choices": [choice], "usage": {"n": 1}}).encode())
    assert answer.finished and answer.content() == "é" and answer.usage == {"n": 1}
