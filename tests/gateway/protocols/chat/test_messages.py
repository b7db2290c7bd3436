"""A message is read alike, whether its members are of the documented types or not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosswind.gateway.protocols.chat.codec import CODEC
from crosswind.gateway.protocols.message_format import UNPARSED

ODD: st.SearchStrategy[Any] = st.sampled_from([None, 0, "", "text", "tool", [], {}, ["a"], [{"text": 1}]])
PARTS = st.lists(
    st.fixed_dictionaries({"type": st.sampled_from(["text", "image_url"]), "text": st.text() | ODD})
)
FUNCTIONS = st.fixed_dictionaries({}, optional={"name": st.text() | ODD, "arguments": st.text() | ODD})
CALLS = st.lists(st.fixed_dictionaries({}, optional={"id": st.text() | ODD, "function": FUNCTIONS | ODD}))
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["system", "user", "assistant", "tool"]) | ODD,
        "content": st.text() | PARTS | ODD,
        "tool_calls": CALLS | ODD,
        "tool_call_id": st.text() | ODD,
        "name": st.text() | ODD,
        "other": ODD,
    },
)


@given(MESSAGES, st.booleans())
def test_a_typed_read_gives_what_a_lenient_one_does(message: dict[str, Any], ascii_only: bool) -> None:
    raw = json.dumps(message, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    assert CODEC.message_format.read(raw) == CODEC.message_format.parse(message)


@pytest.mark.parametrize(
    "raw", [b"[]", b'"user"', b"{", b'{"role":"user","content":"a","other":"\xff"}', b"[" * 2000]
)
def test_what_is_no_message_is_left_alone(raw: bytes) -> None:
    assert CODEC.message_format.read(raw) == UNPARSED
