"""Chat Completions: a stream's chunks that bring tokens as token capture asked for them.

To read such a chunk whole and to write it anew without what capture added costs several times what relaying
it does. Here its parts are only told from each other, what was added is cut out of its bytes, and the parts
are read later, all together.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import msgspec

from crosswind.gateway.http.sse import SseEvent
from crosswind.gateway.protocols.answer import Chunk
from crosswind.gateway.protocols.document import UNREADABLE

HEAD = frozenset({"id", "object", "created", "model"})
"""The members of an answer's head that a chunk repeats."""
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
    """What chunks of one choice brought, in order."""

    deltas: Sequence[dict[str, Any]]
    entries: Sequence[Entry]
    ids: Sequence[int]


class TokenChunks:
    """Chunks of choice `index` that were relayed, and are still to be read."""

    def __init__(self, index: int) -> None:
        self.index = index
        self._events: list[bytes] = []
        self._deltas: list[bytes] = []
        self._logprobs: list[bytes] = []
        self._ids: list[bytes] = []

    def __len__(self) -> int:
        return len(self._events)

    def take(self, event: SseEvent) -> Chunk | None:
        """Take a chunk; gives what the client gets of it. None where it has to be read at once: it brings
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
        # No delta: it came only for its tokens. Engines send none where a token has no text yet.
        raw = b"" if delta == b"{}" else _without(event.raw, logprobs, ids)
        if raw is None or delta[:1] != b"{" or logprobs[:1] != b"{" or ids[:1] != b"[":
            return None
        self._events.append(event.data)
        self._deltas.append(delta)
        self._logprobs.append(logprobs)
        self._ids.append(ids)
        return Chunk(raw, calls)

    def read(self) -> Tokens | None:
        """What they brought, read together; None where one of them has to be read by itself."""
        try:
            entries = [one.content for one in _logprobs.decode(_join_array(self._logprobs))]
            ids = _ids.decode(_join_array(self._ids))
            return Tokens(_join_deltas(self._deltas), [*chain(*entries)], [*chain(*ids)])
        except UNREADABLE:
            return None

    def forget(self) -> list[bytes]:
        """The data of all events; none is kept any longer."""
        events, self._events = self._events, []
        self._deltas, self._logprobs, self._ids = [], [], []
        return events


def _without(raw: bytes, logprobs: bytes, ids: bytes) -> bytes | None:
    """An event without these members of its choice; None where they can't be told from all else."""
    # Names of members stand outside of strings only: within one their quotes would be escaped.
    if raw.count(b'"logprobs":') != 1 or raw.count(b'"token_ids":') != 1:
        return None
    out = raw.replace(b'"logprobs":' + logprobs, b'"logprobs":null').replace(b',"token_ids":' + ids, b"")
    return out if len(out) == len(raw) - (len(logprobs) - 4) - (len(ids) + 13) else None


def _join_deltas(deltas: list[bytes]) -> list[dict[str, Any]]:
    """The deltas; those that are texts alone are one."""
    listed = _join_array([delta for delta in deltas if delta != b"{}"])
    try:
        texts = [delta.content for delta in _texts.decode(listed)]
    except UNREADABLE:
        return _deltas.decode(listed)
    return [{"content": "".join(texts)}] if texts else []


def _join_array(values: list[bytes]) -> bytes:
    return b"[%b]" % b",".join(values)
