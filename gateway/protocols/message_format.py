"""How one message of a protocol is read and written: what a codec tells `history`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from crosswind.gateway.protocols.json_values import decode
from crosswind.injectors.conversation import ToolCall

Replacements = tuple[tuple[int | None, str], ...]
"""(place, text) pairs of one message."""


class TextPart(msgspec.Struct, frozen=True, gc=False):
    """A text part. `place` is its place in the message, in the format's own count (None: the content is a
    plain string).
    """

    place: int | None
    text: str


class ToolResultPart(msgspec.Struct, frozen=True, gc=False):
    """A tool's result: the call that it answers (empty if it names none) and its text parts."""

    call_id: str
    name: str
    texts: tuple[TextPart, ...]
    call: ToolCall | None = None
    """The call, where the message itself says it."""


class Segment(NamedTuple):
    """A piece of a text part that is perturbed on its own, as in a text transcript."""

    place: int | None
    """The text part's place."""
    whole: str
    start: int
    end: int


SEGMENTS = 1 << 24
"""The place of a message's first segment; the others follow it."""


class ParsedMessage(msgspec.Struct, frozen=True, gc=False):
    """One message: a user's texts and tools' results in order, or the policy's calls."""

    parts: tuple[TextPart | ToolResultPart, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    is_user: bool = False
    """It counts as a user's message, even without a text."""
    own_text: str | None = None
    """The policy's own text, if the message is the policy's."""
    own_id: str = ""
    """The message's own id, if the policy made it and it is no call."""
    reference: str = ""
    """The id of an item held by the upstream, for which the message stands."""
    tool_names: frozenset[str] = frozenset()
    """Tools that it names otherwise than by a call."""
    written_calls: tuple[ToolCall, ...] = ()
    """The policy's calls that its text says, where it is a transcript."""
    segments: tuple[Segment, ...] = ()
    """The pieces of its texts, where these are a transcript."""
    steps: tuple[str, ...] = ()
    """What the policy said in it, where it is a transcript, by step."""


UNPARSED = ParsedMessage()
"""A message that is left alone."""


class MessageFormat(ABC):
    """A protocol's messages. All methods are pure."""

    @abstractmethod
    def parse(self, message: Any) -> ParsedMessage:
        """Parse a decoded message, whatever it is; never raises."""

    @abstractmethod
    def write(self, raw: bytes, replacements: Sequence[tuple[int | None, str]]) -> bytes:
        """The message with texts replaced at places that `parse` gave. Everything else keeps its bytes as far
        as JSON allows.
        """

    def read(self, raw: bytes) -> ParsedMessage:
        """Parse a message of a body; one that can't be decoded is left alone."""
        try:
            return self.parse(decode(raw))
        except ValueError:
            return UNPARSED

    def read_all(self, body: bytes, spans: Sequence[tuple[int, int]]) -> list[ParsedMessage]:
        """Parse the messages of a body that stand one after the other in an array."""
        return [self.read(body[start:end]) for start, end in spans]
