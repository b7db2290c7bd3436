"""Messages: a stream's events that only add to a text, relayed as they come and read later, many at once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from crosswind.gateway.protocols.document import UNREADABLE, decode

_PREFIX = b"event: content_block_delta\ndata: "
_SAYING = re.compile(
    rb"(?:event: content_block_delta\n"
    rb'data: \{"type": ?"content_block_delta", ?"index": ?\d+, ?"delta": ?'
    rb'\{"type": ?"(?:text_delta", ?"text|thinking_delta", ?"thinking)": ?'
    rb'"[^"\\\r\n]*(?:\\[^\r\n][^"\\\r\n]*)*"\} *\} *\n\n)+'
)
"""Nothing else can be in them, neither a second `type`."""


class _Event(msgspec.Struct, gc=False):
    index: int
    delta: dict[str, Any]


_events = msgspec.json.Decoder(list[_Event])

Delta = tuple[int, Mapping[str, Any]]
"""A block's index, and what is added to it."""


def count_deferrable(events: bytes) -> int:
    """How many bytes from the start are whole events that only add to a text or to what is thought."""
    found = _SAYING.match(events)
    return found.end() if found else 0


def read_deltas(events: bytes) -> Iterator[Delta]:
    """What such events add, in order."""
    texts = events[len(_PREFIX) : -2].split(b"\n\n" + _PREFIX)
    try:
        found = _events.decode(b"[%b]" % b",".join(texts))
    except UNREADABLE:
        return _one_by_one(texts)
    return ((event.index, event.delta) for event in found)


def _one_by_one(texts: list[bytes]) -> Iterator[Delta]:
    for text in texts:
        try:
            event = decode(text)
        except (ValueError, RecursionError):
            continue
        yield event["index"], event["delta"]
