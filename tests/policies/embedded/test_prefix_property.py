"""A turn's prompt extends the last turn's prompt and completion, token for token, whatever was sampled."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.policies.embedded.chat import ChatFormat
from tests.policies.asking import CAPTURED, ask
from tests.policies.conftest import TOOLS, Served


def test_over_live_conversations_of_a_random_policy(served: Served) -> None:
    """A random policy samples what no tokenizer would choose, markers among it."""
    kinds = set()
    for seed in range(12):
        messages: list[dict[str, Any]] = [{"role": "user", "content": f"Is order #W{seed:04d} here?"}]
        before: list[int] = []
        for turn in range(4):
            body = {"messages": messages, "tools": TOOLS, "max_tokens": 10, "seed": seed, **CAPTURED}
            answer = ask(served.url, body)
            assert answer["prompt_token_ids"][: len(before)] == before
            choice = answer["choices"][0]
            kinds.add(choice["finish_reason"])
            before = answer["prompt_token_ids"] + choice["token_ids"]
            messages = [*messages, choice["message"], {"role": "user", "content": f"And then, {turn}?"}]
    assert "length" in kinds


_NAMES = st.text(st.characters(codec="utf-8", exclude_characters='"\\'), min_size=1, max_size=8)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
_CALLS = st.builds(
    lambda name, arguments, spaced: (
        "<tool_call>"
        + (
            '{"name": "' + name + '", "arguments": ' + json.dumps(arguments, ensure_ascii=False) + "}"
            if spaced
            else json.dumps({"arguments": arguments, "name": name}, separators=(",", ":"))
        )
        + "</tool_call>"
    ),
    _NAMES,
    st.dictionaries(st.text(max_size=5), _JSON, max_size=3),
    st.booleans(),
)
_SAID = st.lists(
    _CALLS | st.text(max_size=12) | st.sampled_from(["<tool_call>", "</tool_call>", "{}", "\n"]), max_size=4
)


@settings(max_examples=150, deadline=None)
@given(said=_SAID.map("".join), split=st.integers(0, 5), follow=st.text(max_size=10))
def test_over_anything_that_could_be_sampled(registry: Any, said: str, split: int, follow: str) -> None:
    """The text may be sampled in other tokens than the tokenizer's, with calls well or ill formed."""
    from crosswind.policies.embedded.choice import CompletionChoice
    from crosswind.policies.embedded.request import read_request
    from crosswind.policies.embedded.sequence import Sequence

    chat = ChatFormat(registry.get("random-0").path)
    asked = [{"role": "user", "content": "Hello"}]
    prompt = chat.prompt_ids(asked, TOOLS)
    sampled = [*chat.encode(said[:split]), *chat.encode(said[split:]), chat.end]
    sequence = Sequence(prompt, 1000, 1.0, 0, frozenset({chat.end}))
    for token in sampled:
        sequence.append(token, 0.0, "v")
    choice = CompletionChoice(0, read_request({"messages": asked}), chat, sequence, "call_")
    choice.advance()
    message = choice.message()
    chat.remember(prompt, sampled, message)
    following = chat.prompt_ids(
        [*asked, message, {"role": "tool", "tool_call_id": "a", "content": follow}], TOOLS
    )
    assert following[: len(prompt) + len(sampled)] == prompt + sampled
