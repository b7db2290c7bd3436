"""Chat Completions: read chunks that hold nothing but text, many at once."""

from __future__ import annotations

from collections.abc import Container
from typing import Annotated

import msgspec

from crosswind.gateway.protocols.deferred_chunks import decode_events


class _Delta(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    content: str


class _Choice(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    index: int
    delta: _Delta
    finish_reason: None = None
    logprobs: None = None
    token_ids: None = None


class _Chunk(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A chunk as engines and providers send it for each token, without anything else."""

    choices: Annotated[list[_Choice], msgspec.Meta(min_length=1, max_length=1)]
    id: str | None = None
    object: str | None = None
    created: int | None = None
    model: str | None = None
    system_fingerprint: str | None = None
    service_tier: str | None = None
    obfuscation: str | None = None
    usage: None = None


_HEAD = ("id", "object", "created", "model", "system_fingerprint", "service_tier", "obfuscation")
_chunks = msgspec.json.Decoder(list[_Chunk])


def split_first(events: bytes) -> tuple[bytes, bytes]:
    """The first event and the others: the first often has members that the others lack."""
    end = events.index(b"\n\n") + 2
    return events[:end], events[end:]


def read_texts(events: bytes, head: Container[str]) -> tuple[int, str] | None:
    """A choice's index, and the text that these events add to it; None if they hold anything else. `head`:
    the members of the answer's head that are known by now.
    """
    read = decode_events(events, _chunks)
    if read is None:
        return None
    index = read[0].choices[0].index
    for chunk in read:
        if chunk.choices[0].index != index:
            return None
    unknown = [name for name in _HEAD if name not in head]
    if any(getattr(chunk, name) is not None for name in unknown for chunk in read):
        return None
    return index, "".join([chunk.choices[0].delta.content for chunk in read])
