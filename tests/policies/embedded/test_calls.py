"""Tool calls out of text that comes in pieces: the pieces never change what is found, and nothing is lost."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosswind.policies.embedded.calls import CallParser, ParsedCall, ParsedText, Part, parse_call

ARGUMENTS = '{"order_id": "#W1234", "deep": {"a": [1, "}"]}}'
GOOD = f'<tool_call>{{"name": "get_order", "arguments": {ARGUMENTS}}}</tool_call>'


def _parse(*pieces: str) -> list[Part]:
    parser = CallParser()
    parts = [part for piece in pieces for part in parser.feed(piece)] + parser.finish()
    joined: list[Part] = []
    for part in parts:
        if joined and isinstance(part, ParsedText) and isinstance(joined[-1], ParsedText):
            joined[-1] = ParsedText(joined[-1].text + part.text)
        else:
            joined.append(part)
    return joined


def test_text_and_calls_keep_their_order() -> None:
    parts = _parse(f"First.\n{GOOD} then {GOOD}")
    call = ParsedCall("get_order", ARGUMENTS)
    assert parts == [ParsedText("First.\n"), call, ParsedText(" then "), call]


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{}",
        "[1]",
        '{"name": "x"}',
        '{"name": 3, "arguments": {}}',
        '{"name": "x", "arguments": "{}"}',
        '{"name": "x", "arguments": {"a": NaN}}',
        '{"name": "x", "arguments": {}, "more": 1}',
        '{"name": "x", "arguments": {}',
        '{"name": "x", "arguments": {"a": "</tool_call>"}}',
        "[" * 5000,
    ],
)
def test_a_malformed_call_stays_in_the_text(body: str) -> None:
    text = f"so <tool_call>{body}</tool_call> it is"
    assert _parse(text) == [ParsedText(text)]


@pytest.mark.parametrize("text", ["<tool_call>", f"{GOOD[:-1]}", "a < b <tool", "</tool_call>"])
def test_an_unfinished_call_is_text(text: str) -> None:
    assert _parse(text) == [ParsedText(text)]


_PIECES = st.lists(
    st.sampled_from(
        [GOOD, "<tool_call>", "</tool_call>", "<tool_", "call>", "{", '"name": ', "}", "text", "<", "\n"]
    ),
    max_size=8,
)


@given(_PIECES, st.lists(st.integers(0, 400), max_size=6))
def test_where_the_text_is_cut_changes_nothing(pieces: list[str], cuts: list[int]) -> None:
    text = "".join(pieces)
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    chopped = [text[start:end] for start, end in pairwise(places)]
    assert _parse(*chopped) == _parse(text)


@given(
    st.dictionaries(st.text(), st.integers() | st.text() | st.lists(st.booleans())), st.text(), st.booleans()
)
def test_arguments_keep_their_own_characters(arguments: dict[str, object], name: str, last: bool) -> None:
    raw = json.dumps(arguments, ensure_ascii=False)
    quoted = json.dumps(name)
    if last:
        call = parse_call(f'{{"name": {quoted}, "arguments": {raw}}}')
    else:
        call = parse_call(f'{{"arguments": {raw}, "name": {quoted}}}')
    assert call is not None and call.name == name
    assert json.loads(call.arguments) == arguments
    assert not last or call.arguments == raw
