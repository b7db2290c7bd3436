"""Chat Completions: chunks with the tokens that token capture asked for.

Decoding such a chunk and encoding it again without the added members costs several times what relaying it
does. Here its parts are only located: the added members are cut out of its bytes, and the parts are read
later, all together.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import msgspec

from crosswind.gateway.http.sse import SseEvent
from crosswind.gateway.protocols.answer import Chunk
from crosswind.gateway.protocols.json_values import UNREADABLE

HEAD = frozenset({"id", "object", "created", "model"})
"""The members of an answer's head that every chunk repeats."""
_CALLS = b'"tool_calls"'
_CALLING = (b'{"tool_calls":[{', b'{"content":null,"tool_calls":[{')

_NOTHING = msgspec.Raw(b"null")


class _Choice(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    index: int
    delta: msgspec.Raw
    logprobs: msgspec.Raw
    token_ids: msgspec.Raw
    finish_reason: None = None


class _Chunk(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    choices: tuple[_Choice]
    id: msgspec.Raw = _NOTHING
    object: msgspec.Raw = _NOTHING
    created: msgspec.Raw = _NOTHING
    model: msgspec.Raw = _NOTHING


class Entry(msgspec.Struct, gc=False):
    """A token's log-probability, and those of the likeliest."""

    logprob: float
    top_logprobs: list[dict[str, Any]] | None = None


class _Text(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    content: str


class _Logprobs(msgspec.Struct, gc=False):
    content: list[Entry]


_chunk = msgspec.json.Decoder(_Chunk)
_texts = msgspec.json.Decoder(list[_Text])
_deltas = msgspec.json.Decoder(list[dict[str, Any]])
_logprobs = msgspec.json.Decoder(list[_Logprobs])
_ids = msgspec.json.Decoder(list[list[int]])


class Tokens(msgspec.Struct, frozen=True, gc=False):
    """The contents of one choice's chunks, in order."""

    deltas: Sequence[dict[str, Any]]
    entries: Sequence[Entry]
    ids: Sequence[int]


class TokenChunks:
    """Chunks of choice `index` that were relayed and are not yet read."""

    def __init__(self, index: int) -> None:
        self.index = index
        self._events: list[bytes] = []
        self._deltas: list[bytes] = []
        self._logprobs: list[bytes] = []
        self._ids: list[bytes] = []

    def __len__(self) -> int:
        return len(self._events)

    def take(self, event: SseEvent) -> Chunk | None:
        """Take a chunk; gives what the client gets of it. None if it has to be read at once: it brings
        something else too, or is spelled unusually.
        """
        try:
            (choice,) = _chunk.decode(event.data).choices
        except UNREADABLE:
            return None
        delta, logprobs, ids = bytes(choice.delta), bytes(choice.logprobs), bytes(choice.token_ids)
        calls = _CALLS in delta
        if choice.index != self.index or (calls and not delta.startswith(_CALLING)):
            return None
        # A chunk without a delta came only for its tokens: the client gets nothing.
        raw = b"" if delta == b"{}" else _without(event.raw, logprobs, ids)
        if raw is None or delta[:1] != b"{" or logprobs[:1] != b"{" or ids[:1] != b"[":
            return None
        self._events.append(event.data)
        self._deltas.append(delta)
        self._logprobs.append(logprobs)
        self._ids.append(ids)
        return Chunk(raw, calls)

    def read(self) -> Tokens | None:
        """Read them together; None if one of them has to be read alone."""
        try:
            entries = [one.content for one in _logprobs.decode(_join_array(self._logprobs))]
            ids = _ids.decode(_join_array(self._ids))
            return Tokens(_join_deltas(self._deltas), [*chain(*entries)], [*chain(*ids)])
        except UNREADABLE:
            return None

    def forget(self) -> list[bytes]:
        """Give the data of all events, and keep none."""
        events, self._events = self._events, []
        self._deltas, self._logprobs, self._ids = [], [], []
        return events


def _without(raw: bytes, logprobs: bytes, ids: bytes) -> bytes | None:
    """An event without these members of its choice; None if their bytes are ambiguous."""
    # These names with bare quotes stand outside of strings only: inside one, the quotes would be escaped.
    if raw.count(b'"logprobs":') != 1 or raw.count(b'"token_ids":') != 1:
        return None
    out = raw.replace(b'"logprobs":' + logprobs, b'"logprobs":null').replace(b',"token_ids":' + ids, b"")
    return out if len(out) == len(raw) - (len(logprobs) - 4) - (len(ids) + 13) else None


def _join_deltas(deltas: list[bytes]) -> list[dict[str, Any]]:
    """The deltas; if all are texts only, as one."""
    listed = _join_array([delta for delta in deltas if delta != b"{}"])
    try:
        texts = [delta.content for delta in _texts.decode(listed)]
    except UNREADABLE:
        return _deltas.decode(listed)
    return [{"content": "".join(texts)}] if texts else []


def _join_array(values: list[bytes]) -> bytes:
    return b"[%b]" % b",".join(values)
