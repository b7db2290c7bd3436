"""JSON that nobody expects: valid documents with anything in any place, written in any way."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import strategies as st

from tests.gateway.protocols.test_documents import raw

WORDS = st.sampled_from(
    [
        "", "user", "assistant", "tool", "system", "developer", "text", "input_text", "output_text",
        "tool_use", "tool_result", "function", "function_call", "function_call_output", "reasoning",
        "item_reference", "thinking", "get_order", "c1", "stop", "tool_calls", "completed", "delta",
        "<system-reminder>", "\ud800", "a\udfffb", "\x00", "{", "[DONE]", "auto", "any", "required",
    ]
)  # fmt: skip
NUMBERS = st.sampled_from(
    [0, -1, 1, 2**31, 2**53 + 1, 2**63, -(2**64), 10**400, 0.5, -0.0, 1e308]
) | st.sampled_from([float("nan"), float("inf"), float("-inf")])
SCALARS = st.none() | st.booleans() | NUMBERS | WORDS | st.text(max_size=5)
NAMES = st.sampled_from(
    ["type", "role", "content", "text", "id", "name", "function", "index", "tool_calls", "arguments", "x", ""]
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=5,
)

Path = tuple[str | int, ...]


def paths(value: Any, at: Path = ()) -> list[Path]:
    """The ways to every node below a document."""
    members: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        members = list(value.items())
    elif isinstance(value, list):
        members = list(enumerate(value))
    return [found for name, one in members for found in ((*at, name), *paths(one, (*at, name)))]


def node(document: Any, path: Path) -> Any:
    for name in path:
        document = document[name]
    return document


@st.composite
def mutated(draw: Any, document: Any, most: int = 3) -> Any:
    """The document with some of its nodes replaced, removed, doubled, or put elsewhere."""
    changed = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, most))):
        ways = paths(changed)
        if not ways:
            break
        *above, name = draw(st.sampled_from(ways))
        holder = node(changed, tuple(above))
        match draw(st.sampled_from(("other", "other", "other", "moved", "removed", "doubled"))):
            case "other":
                holder[name] = draw(VALUES)
            case "moved":
                holder[name] = copy.deepcopy(node(changed, draw(st.sampled_from(ways))))
            case "removed":
                del holder[name]
            case _ if isinstance(holder, list):
                holder.insert(name, copy.deepcopy(holder[name]))
            case _:
                holder[draw(NAMES)] = copy.deepcopy(holder[name])
    return changed


@st.composite
def spelled(draw: Any, document: Any) -> bytes:
    """The document as bytes: escaped or not (lone surrogates are no UTF-8 then), now and then with a member
    that stands there twice.
    """
    text = json.dumps(
        document, ensure_ascii=draw(st.booleans()), separators=draw(st.sampled_from([None, (",", ":")]))
    )
    if draw(st.integers(0, 7)) == 0:
        name, value = draw(st.sampled_from(paths(document) or [("x",)]))[-1], draw(VALUES)
        places = [at for at, character in enumerate(text) if character == "{" and text[at + 1] != "}"]
        if places:
            at = draw(st.sampled_from(places)) + 1
            text = f"{text[:at]}{json.dumps(str(name))}:{json.dumps(value)},{text[at:]}"
    return raw(text)


@st.composite
def damaged(draw: Any, body: bytes) -> bytes:
    """Bytes with some of them cut out, doubled or replaced."""
    start = draw(st.integers(0, len(body)))
    end = min(len(body), start + draw(st.integers(0, 40)))
    put = draw(
        st.sampled_from(
            [b"", b"\xff\xfe", b"\x00", b"\r\n", b"\n\n", b'"', b"}", b"]", b"{", b"\\", b"\\ud83d", b"NaN"]
        )
    )
    return body[:start] + put + draw(st.sampled_from([b"", body[start:end]])) + body[end:]
