"""The stored form of what a turn's columns don't hold: its views, tokens and ledger rows.

A body is one version byte, a checksum, and a msgpack array. A turn's content is stored as what it adds to the
earlier turns of its session, which it names by their place: index, attempt, and which of their chains or
frames. No body refers to another session.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Any, TypeVar
from zlib import crc32

import msgspec

T = TypeVar("T")

Text = Any
"""A str, or its WTF-8 bytes where it is no valid Unicode; None where the field may be."""
Place = tuple[int, int]
"""A turn of the session: index and attempt."""
Reference = tuple[int, int, int]
"""Content of an earlier turn, or of the turn itself: index, attempt, and which."""
RECEIVED, SENT, PRODUCED, DELIVERED, PROMPT = range(5)

VERSION = 1
_head = Struct("<BI")
"""What stands before the msgpack: the version and the checksum."""
_pack_head_into, _HEAD = _head.pack_into, _head.size


class DamagedBody(ValueError):
    """A stored body can't be read as it was written."""


class StoredChain(msgspec.Struct, array_like=True, frozen=True):
    """A chain: the one that it extends, and the segments behind that, oldest first."""

    base: Reference | None
    segments: list[int | bytes]
    """A number n stands for n segments that are those of the received chain at the same depth."""


class StoredView(msgspec.Struct, array_like=True, frozen=True):
    """A view: its frame, and its chain if it has one."""

    frame: Reference | None
    """The frame that this one is equal to, or shares pieces with."""
    pieces: list[bytes | bool | None] | None
    """The frame's pieces: None in the chain's place, True where the piece is that of `frame`. No list at all
    where all of them are."""
    chain: StoredChain | None


class StoredCompletion(msgspec.Struct, array_like=True, frozen=True):
    """A choice, with its numbers as little-endian arrays."""

    index: int
    token_ids: bytes
    logprobs: bytes
    finish_reason: Text
    versions: str | None
    top_logprobs: bytes | None


class TurnBody(msgspec.Struct, array_like=True, frozen=True):
    """A turn without its columns. JSON-valued fields are JSON text."""

    received: StoredView | bytes | None
    """Bytes are a plain body."""
    sent: StoredView | bytes | bool | None
    """True: the received view."""
    produced: StoredView | bytes | None
    delivered: StoredView | bytes | None
    prompt: StoredChain | None
    completions: list[StoredCompletion] | None
    """None: one choice without tokens, of which the turn's finish reason says all."""
    usage: str
    usage_injected: str
    inner: str | None
    error_message: Text
    spared: bool

    def references(self) -> Iterator[Reference]:
        """What the body refers to."""
        for view in (self.received, self.sent, self.produced, self.delivered):
            if isinstance(view, StoredView):
                if view.frame is not None:
                    yield view.frame
                if view.chain is not None and view.chain.base is not None:
                    yield view.chain.base
        if self.prompt is not None and self.prompt.base is not None:
            yield self.prompt.base


class StoredShown(msgspec.Struct, array_like=True, frozen=True):
    """A message part as the policy saw it. `decisions` is JSON text."""

    anchor: Text
    site: Text
    ordinal: int
    turn_index: int
    clean_hash: Text
    decisions: str | None
    text: Text
    branch: Text


class LedgerBody(msgspec.Struct, array_like=True, frozen=True):
    """The ledger rows that came with a turn."""

    shown: list[StoredShown]
    names: list[tuple[Text, Text, int]]
    """Declared name, shown name, turn index."""


_encode_into = msgspec.msgpack.Encoder().encode_into
_DECODERS: dict[type[Any], msgspec.msgpack.Decoder[Any]] = {
    kind: msgspec.msgpack.Decoder(kind) for kind in (TurnBody, LedgerBody)
}


def encode_body(body: object) -> bytearray:
    """A TurnBody or LedgerBody, or a sequence of its fields, as it is stored.

    Raises UnicodeEncodeError for text that is no valid Unicode; its WTF-8 bytes can be stored.
    """
    stored = bytearray(_HEAD)
    _encode_into(body, stored, _HEAD)
    _pack_head_into(stored, 0, VERSION, crc32(memoryview(stored)[_HEAD:]))
    return stored


def decode_body(stored: bytes, kind: type[T]) -> T:
    """Raises DamagedBody."""
    if not isinstance(stored, bytes) or len(stored) < _HEAD:
        raise DamagedBody("it is cut off")
    if stored[0] != VERSION:
        raise DamagedBody(f"its version is {stored[0]}, and this crosswind reads {VERSION}")
    packed = memoryview(stored)[_HEAD:]
    if crc32(packed) != int.from_bytes(stored[1:_HEAD], "little"):
        raise DamagedBody("its checksum is wrong")
    try:
        found: T = _DECODERS[kind].decode(packed)
    except msgspec.DecodeError as error:
        raise DamagedBody(str(error)) from error
    return found
