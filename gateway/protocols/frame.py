"""A body around its messages. It repeats from turn to turn, and from session to session of an agent, so that
what is read of it is read once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from crosswind.gateway.protocols.document import Document, MemberSpan, after_gap
from crosswind.gateway.protocols.json_values import UNREADABLE, decode_or_none, text_or_none
from crosswind.gateway.trajectory.content import content_key
from crosswind.injectors.conversation import ToolSchema

Edits = Mapping[str, bytes | None]
"""Members of a body with their new values; None removes one."""
Pieces = tuple[bytes | None, ...]
"""The pieces of a body in order, with None in the place of its messages, if it has any."""
LARGEST_FRAME = 1 << 20
"""The most bytes around the messages that are kept."""
_SHARED_FRAMES = 8
_array = msgspec.json.Decoder(list[msgspec.Raw])


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
        self._edited: tuple[Edits, Pieces, bytes] = ({}, (), b"")
        self.key = content_key(self.text)
        """The key of the pieces."""
        self.model = text_or_none(self.value("model"))
        self.size = 5 * len(self.text)
        """Its bytes in memory."""

    def find_messages(self, body: bytes, at: int) -> list[tuple[int, int]] | None:
        """The spans of the objects behind the offset, if they and the tail are the rest of a body with this
        head. `at`: where the first one's separator begins.
        """
        stop = len(body) - len(self.tail)
        if stop < at or not body.endswith(self.tail):
            return None
        first = at == len(self.head)
        if stop == at:
            return None if first else []
        try:
            objects = _array.decode((b"[%b]" if first else b"[0%b]") % body[at:stop])
        except UNREADABLE:
            return None
        spans = []
        for number, element in enumerate(objects):
            if number or first:
                begin = at + 1 if body.startswith(b",{", at) else after_gap(body, at)
                if not body.startswith(b"{", begin):
                    return None
                at = begin + len(memoryview(element))
                spans.append((begin, at))
        # White space behind the last one belongs to another tail.
        return spans if spans and at == stop else None

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
        return self._edit(edits)[1]

    def _edit(self, edits: Edits) -> tuple[Edits, Pieces, bytes]:
        """The edits, the pieces with them, and these joined."""
        edited = self._edited
        if not edited[1] or edited[0] != edits:
            pieces = self._split(edits, self._member)
            text = b"".join([piece for piece in pieces if piece is not None])
            edited = self._edited = dict(edits), pieces, text
        return edited

    def masked(self, edits: Edits, mask: Callable[[bytes], bytes]) -> Pieces:
        """The pieces with edits, for the store. They are masked one by one only where their text, the same
        objects from turn to turn, has something to hide.
        """
        if edits:
            _, pieces, text = self._edit(edits)
            clean = mask(text) is text
        else:
            pieces, head, tail = self.pieces, self.head, self.tail
            clean = mask(head) is head and mask(tail) is tail
        if clean:
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


class FrameCache:
    """The frames that a protocol met last, in all sessions. Those of an agent are equal, or at least end
    alike, with the tools.
    """

    def __init__(self) -> None:
        self._kept: tuple[Frame, ...] = ()

    def add(self, frame: Frame) -> None:
        if frame.size > LARGEST_FRAME:
            return
        for known in self._kept:
            if known.tail == frame.tail:
                frame.tail = known.tail  # one object, so that what is known of it needn't be found out again
                break
        self._kept = (frame, *self._kept[: _SHARED_FRAMES - 1])

    def find(self, body: bytes) -> tuple[Frame, list[tuple[int, int]]] | None:
        """The frame of a body and the spans of its messages, if the frame is known."""
        for frame in self._kept:
            if body.startswith(frame.head) and (spans := frame.find_messages(body, len(frame.head))):
                return frame, spans
        return None


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
