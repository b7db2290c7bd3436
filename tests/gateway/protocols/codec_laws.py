"""What holds of every codec that reads a history: of any body, whatever its members."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from crosswind.gateway.protocols.codec import Codec, SessionReader
from crosswind.gateway.protocols.json_values import decode
from crosswind.gateway.protocols.request import Request
from crosswind.injectors.conversation import Ref, ToolResult
from tests.gateway.protocols.test_documents import same


def read(codec: Codec, body: bytes) -> Request:
    split = codec.split(body)
    assert split is not None
    return codec.read(split, SessionReader(codec), same)


def texts(request: Request) -> dict[Ref, str]:
    return {item.ref: item.text for item in request.conversation.items}


def assert_written_back_the_same(codec: Codec, body: bytes) -> None:
    """What is read and written back with its own texts is the same body."""
    request = read(codec, body)
    assert request.write({}, {}, same)[0] == body
    assert request.stored_view(same).bytes() == body
    items = request.conversation.items
    assert len({item.ref for item in items}) == len(items)
    rewritten, view = request.write(texts(request), {}, same)
    assert decode(rewritten) == decode(body) and view.bytes() == rewritten


def assert_only_texts_change(data: Any, codec: Codec, body: bytes) -> None:
    """Any choice of replacements changes those texts and nothing else, and can be taken back."""
    request = read(codec, body)
    before = texts(request)
    chosen = data.draw(st.sets(st.sampled_from(sorted(before, key=str)))) if before else set()
    shown = {ref: f"{{{number}}}" for number, ref in enumerate(sorted(chosen, key=str))}
    rewritten, _ = request.write(shown, {}, same)
    again = read(codec, rewritten)
    assert texts(again) == before | shown
    assert _by_call(again) == _by_call(request)
    # Only the spelling of the strings that were put back may differ.
    restored, _ = again.write({ref: before[ref] for ref in shown}, {}, same)
    assert decode(restored) == decode(body)


def _by_call(request: Request) -> list[str]:
    """The anchors of what is found by a call's id: they are the same, whatever the text."""
    return [
        item.anchor
        for item in request.conversation.items
        if isinstance(item, ToolResult) and item.anchor.startswith("call:")
    ]
