"""A body around its messages. It repeats from turn to turn, so that what is read of it is read once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from crosswind.gateway.protocols.document import Document, MemberSpan
from crosswind.gateway.protocols.json_values import decode_or_none, text_or_none
from crosswind.gateway.trajectory.content import content_key
from crosswind.injectors.conversation import ToolSchema

Edits = Mapping[str, bytes | None]
"""Members of a body with their new values; None removes one."""
Pieces = tuple[bytes | None, ...]
"""The pieces of a body in order, with None in the place of its messages, if it has any."""


class RequestOptions(msgspec.Struct, frozen=True, gc=False):
    """What the members of a frame ask for."""

    stream: bool = False
    tools: tuple[ToolSchema, ...] = ()
    choices: int = 1
    requested: frozenset[str] = frozenset()
    """Which of `logprobs`, `token_ids` and `usage` (of a stream) the client itself asked for."""


class Frame:
    """The members of a body, without the messages in one of them: they stand between `head` and `tail`."""

    __slots__ = (
        "_edited",
        "_member",
        "_moved",
        "_pieces",
        "_raw",
        "_values",
        "_whole",
        "head",
        "key",
        "members",
        "model",
        "options",
        "size",
        "tail",
        "text",
    )

    def __init__(self, document: Document, member: str, first: int, last: int) -> None:
        """The body's messages are at [first, last)."""
        self.head, self.tail = document.body[:first], document.body[last:]
        self.text = self.head + self.tail
        self.options: RequestOptions | None = None
        self._member = member if last > first else None
        self.members = document.members
        """As they stood in that body."""
        self._moved = last, first - last
        """From where on they stand elsewhere in the text, and by how much."""
        self._whole: Document | None = None
        self._raw: dict[str, bytes | None] = {}
        self._values: dict[str, Any] = {}
        self._pieces: Pieces = ()
        self._edited: tuple[dict[str, bytes | None], Pieces, bytes] = ({}, (), b"")
        self.key = content_key(self.text)
        """The key of the pieces."""
        self.model = text_or_none(self.value("model"))
        self.size = 5 * len(self.text)
        """Its bytes in memory."""

    def document(self, body: bytes) -> Document:
        """The whole body, which has this frame and an array of messages, as a document."""
        at, by = self._moved
        return _shift(self.members, body, at, by + len(body) - len(self.text))

    @property
    def _document(self) -> Document:
        """The text as a document."""
        if self._whole is None:
            self._whole = _shift(self.members, self.text, *self._moved)
        return self._whole

    def _span(self, name: str) -> tuple[int, int] | None:
        """Where a member's value stands in the text."""
        span = self.members.get(name)
        if span is None:
            return None
        at, by = self._moved
        start = span.start + by if span.start >= at else span.start
        return start, span.end + by if span.end >= at else span.end

    def raw(self, name: str) -> bytes | None:
        """The bytes of a member's value; not of the one that holds the messages."""
        try:
            return self._raw[name]
        except KeyError:
            span = self._span(name)
            raw = self._raw[name] = None if span is None else self.text[slice(*span)]
            return raw

    def value(self, name: str) -> Any:
        """A member's value, which must not be changed; None where it is absent, or can't be read."""
        try:
            return self._values[name]
        except KeyError:
            value = self._values[name] = decode_or_none(self.raw(name))
            return value

    @property
    def pieces(self) -> Pieces:
        """As received. The tools are a piece of their own: they repeat from turn to turn, and the rest
        varies.
        """
        if not self._pieces:
            text, at, tools = self.text, len(self.head), self._span("tools")
            start, end = tools or (at, at)
            if self._member is None:
                self._pieces = (text,) if tools is None else (text[:start], text[start:end], text[end:])
            elif tools is None:
                self._pieces = (text[:at], None, text[at:])
            elif start < at:
                self._pieces = (text[:start], text[start:end], text[end:at], None, text[at:])
            else:
                self._pieces = (text[:at], None, text[at:start], text[start:end], text[end:])
        return self._pieces

    def with_edits(self, edits: Edits) -> Pieces:
        """The pieces with other values of some members."""
        known, pieces, _ = self._edited
        if not pieces or known != edits:
            pieces = self._split(edits, self._member)
            self._edited = dict(edits), pieces, b"".join([piece for piece in pieces if piece is not None])
        return pieces

    def masked(self, edits: Edits, mask: Callable[[bytes], bytes]) -> Pieces:
        """The pieces with edits, for the store. They are masked one by one only where their text, the same
        object from turn to turn, has something to hide.
        """
        pieces = self.with_edits(edits) if edits else self.pieces
        text = self._edited[2] if edits else self.text
        if mask(text) is text:
            return pieces
        return tuple([None if piece is None else mask(piece) for piece in pieces])

    def with_history(self, history: bytes, edits: Edits, member: str) -> bytes:
        """A whole body, with another value of the member that holds the messages."""
        pieces = self._split({**edits, member: history}, None)
        return b"".join([piece for piece in pieces if piece is not None])

    def _split(self, edits: Edits, member: str | None) -> Pieces:
        """The pieces around the messages in `member`, if there are any."""
        pieces: list[bytes | None] = []
        document, at = self._document, len(self.head)
        text = bytearray(document.opening)
        for name, lead, value in document.members_with(edits):
            text += lead
            if name == member:
                span = document.members[name]
                text += document.body[span.start : at]
                pieces += [bytes(text), None]
                text = bytearray(document.body[at : span.end])
            elif name == "tools":
                pieces += [bytes(text), value]
                text = bytearray()
            else:
                text += value
        return (*pieces, bytes(text + document.closing))


def _shift(members: Mapping[str, MemberSpan], body: bytes, at: int, by: int) -> Document:
    """The document of a body with these members, in which everything from `at` on is moved."""
    moved = {
        name: MemberSpan(
            span.lead + by if span.lead >= at else span.lead,
            span.start + by if span.start >= at else span.start,
            span.end + by if span.end >= at else span.end,
        )
        for name, span in members.items()
    }
    return Document(body, moved)
