"""Chat Completions: read chunks that only add to a choice's texts, all chunks of one read at once.

Reading a chunk alone costs several times what relaying it does. Most chunks of an answer differ in their
text only: of these, just the texts are decoded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import Annotated, Any, Generic, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from crosswind.gateway.protocols.json_values import UNREADABLE

C = TypeVar("C")
D = TypeVar("D")


class _Delta(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    content: str | UnsetType = UNSET


class _WideDelta(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A delta in which a server names also what it doesn't add to."""

    role: str | UnsetType | None = UNSET
    content: str | UnsetType | None = UNSET
    reasoning_content: str | UnsetType | None = UNSET
    reasoning: str | UnsetType | None = UNSET
    refusal: str | UnsetType | None = UNSET
    tool_calls: UnsetType | None = UNSET
    function_call: UnsetType | None = UNSET


class _Choice(msgspec.Struct, Generic[D], forbid_unknown_fields=True, gc=False):
    index: int
    delta: D
    finish_reason: str | None = None
    logprobs: None = None
    token_ids: None = None


class _Chunk(msgspec.Struct, Generic[D], forbid_unknown_fields=True, gc=False):
    """A chunk as engines send it for each token, without anything else. The usage may come in one without a
    choice.
    """

    choices: Annotated[list[_Choice[D]], msgspec.Meta(max_length=1)]
    id: str | None = None
    object: str | None = None
    created: int | None = None
    model: str | None = None
    usage: dict[str, Any] | None = None


class _WideChunk(_Chunk[D], Generic[D], forbid_unknown_fields=True, gc=False):
    """A provider's chunk."""

    system_fingerprint: str | None = None
    service_tier: str | None = None
    obfuscation: str | None = None


_CHUNK_HEAD = frozenset({"id", "object", "created", "model"})
_WIDE_HEAD = _CHUNK_HEAD | {"system_fingerprint", "service_tier", "obfuscation"}
_get_choices, _get_usage = attrgetter("choices"), attrgetter("usage")
_get_index, _get_finish_reason, _get_content = map(attrgetter, ("index", "finish_reason", "delta.content"))
_CONTENT = re.compile(rb'"content": ?"((?:[^"\\]|\\.)*)"')
_texts = msgspec.json.Decoder(list[str])
_narrow = msgspec.json.Decoder(list[_Chunk[_Delta]])
_wide = msgspec.json.Decoder(list[_WideChunk[_WideDelta]])


class Addition(msgspec.Struct, gc=False):
    """What chunks add to one choice."""

    index: int | None = None
    """The choice's; None where no chunk has one."""
    parts: list[tuple[str, str | None]] = []
    """Members of its message, each with a text to add, or None, which changes nothing."""
    finish_reason: str | None = None
    from_finish: int = 0
    """How many chunks there are from the first one with a finish reason on."""
    usage: dict[str, Any] | None = None


class TextDeltas:
    """Reads the chunks of one answer, as its server spells them."""

    def __init__(self) -> None:
        self._is_wide = False
        self._knows_head = False
        """All members that a chunk may bring are known: nothing new can come."""
        self._before = self._behind = b""
        """What stands around the text of a chunk that has one and nothing else, once there was one."""
        self._index = 0

    def read(self, events: bytes, head: Mapping[str, Any]) -> Addition | None:
        """What these events add; None if they have anything else, or are spelled unusually. `head`: the
        members of the answer's head that are known by now.
        """
        if not self._before and not self._is_wide:
            self._learn(events, head)
        if not self._before or (alike := self._read_alike(events)) is None:
            return self._read(events, head)
        text, rest = alike
        added = self._read(rest, head) if rest else Addition(parts=[])
        if added is None or added.index not in (None, self._index):
            return None
        added.index = self._index
        added.parts.insert(0, ("content", text))
        return added

    def _learn(self, events: bytes, head: Mapping[str, Any]) -> None:
        """Learn how a chunk with a text is spelled, by the first of these events."""
        first = events[: events.find(b"\n\n") + 2]
        added, found = self._read(first, head), _CONTENT.search(first)
        if added is None or added.index is None or added.finish_reason is not None or self._is_wide:
            return
        if found is None or added.usage is not None or not added.parts:
            return
        before, behind = first[: found.start(1)], first[found.end(1) :]
        # A member that is named twice counts once, perhaps with its name spelled by escapes.
        if b'"content"' not in behind and b"\\" not in before + behind:
            self._index, self._before, self._behind = added.index, before, behind

    def _read_alike(self, events: bytes) -> tuple[str, bytes] | None:
        """The text of the chunks that are spelled so, and the events behind them; None where none is."""
        before = self._before
        *pieces, rest = events.split(self._behind)
        # What both the first and the last in order begin with, all between them do.
        if not pieces or not min(pieces).startswith(before) or not max(pieces).startswith(before):
            return None
        start = len(before)
        try:
            # A text that isn't one JSON string makes more or fewer of them, or none.
            texts = _texts.decode(b'["%b"]' % b'","'.join([piece[start:] for piece in pieces]))
        except UNREADABLE:
            return None
        return ("".join(texts), rest) if len(texts) == len(pieces) else None

    def _read(self, events: bytes, head: Mapping[str, Any]) -> Addition | None:
        chunks = self._decode(events)
        if chunks is None or (not self._knows_head and self._brings_head(chunks, head)):
            return None
        # By functions in C: there is a chunk for each token.
        rows = [*map(_get_choices, chunks)]
        choices = [*chain.from_iterable(rows)]
        added = Addition(parts=[], usage=_find_last(map(_get_usage, chunks)))
        if not choices:
            return added
        added.index = choices[0].index
        if len({*map(_get_index, choices)}) > 1:
            return None
        reasons = [*map(_get_finish_reason, choices)]
        if (reason := _find_last(reasons)) is not None:
            added.finish_reason = reason
            first = choices[min(map(reasons.index, {*reasons} - {None}))]
            added.from_finish = len(rows) - rows.index([first])
        if self._is_wide:
            added.parts = [part for choice in choices for part in _list_parts(choice.delta)]
            return added
        texts = [*map(_get_content, choices)]
        if texts.count(UNSET) < len(texts):
            added.parts.append(("content", "".join(filter(None, texts))))
        return added

    def _decode(self, events: bytes) -> Sequence[_Chunk[Any]] | None:
        if not self._is_wide and (chunks := _decode(events, _narrow)) is not None:
            return chunks
        if (wide := _decode(events, _wide)) is not None and not self._is_wide:
            self._is_wide, self._knows_head = True, False
        return wide

    def _brings_head(self, chunks: Sequence[_Chunk[Any]], head: Mapping[str, Any]) -> bool:
        """Whether a chunk brings a member of the answer's head that isn't known yet."""
        new = (_WIDE_HEAD if self._is_wide else _CHUNK_HEAD) - head.keys()
        self._knows_head = not new
        return bool(new) and any(getattr(chunk, name) is not None for chunk in chunks for name in new)


def _decode(events: bytes, decoder: msgspec.json.Decoder[list[C]]) -> list[C] | None:
    """The data of events, decoded as one JSON array; None if they aren't one such value each, on one line."""
    if not events.startswith(b"data: ") or not events.endswith(b"\n\n") or b"\r" in events:
        return None
    given = events[6:-2].split(b"\n\ndata: ")
    array = b",".join(given)
    if b"\n" in array:
        return None
    try:
        found = decoder.decode(b"[%b]" % array)
    except UNREADABLE:
        return None
    return found if len(found) == len(given) else None


def _find_last(values: Iterable[C | None]) -> C | None:
    """The last one that isn't None."""
    listed = [*values]
    if listed.count(None) == len(listed):
        return None
    return next(one for one in reversed(listed) if one is not None)


def _list_parts(delta: _WideDelta) -> list[tuple[str, str | None]]:
    return [
        (name, value) for name in _WideDelta.__struct_fields__ if (value := getattr(delta, name)) is not UNSET
    ]
