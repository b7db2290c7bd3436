"""How one message of a protocol reads, and how a text is written back into it: what codecs tell `history`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from crosswind.gateway.protocols.document import decode
from crosswind.injectors.conversation import ToolCall

Replacements = tuple[tuple[int | None, str], ...]
"""(place, text) pairs of one message."""


class TextPart(msgspec.Struct, frozen=True):
    """A text part. `place` says where it stands in its message; what the number means is the format's own
    (None: the content is a plain string).
    """

    place: int | None
    text: str


class ToolResultPart(msgspec.Struct, frozen=True):
    """A tool's result: the call that it answers (empty: not named) and its text parts."""

    call_id: str
    name: str
    texts: tuple[TextPart, ...]


class ParsedMessage(msgspec.Struct, frozen=True):
    """One message: a user's texts and tools' results in order, and the policy's calls."""

    parts: tuple[TextPart | ToolResultPart, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    is_user: bool = False
    """It counts as a user's message, even where it has no text."""
    own_text: str | None = None
    """The policy's own text, where the message is the policy's."""
    own_id: str = ""
    """The policy made it, and this is its own id; a call's is in `calls`."""
    reference: str = ""
    """It stands for an item of this id, which the upstream holds."""
    tool_names: frozenset[str] = frozenset()
    """Tools that it names otherwise than by a call."""


UNPARSED = ParsedMessage()
"""A message that is left alone."""


class MessageFormat(Protocol):
    """A protocol's messages. Both methods are pure."""

    def parse(self, message: Any) -> ParsedMessage:
        """Read a decoded message, whatever it is; never raises."""
        ...

    def write(self, raw: bytes, replacements: Sequence[tuple[int | None, str]]) -> bytes:
        """The message with texts replaced at places that `read` gave; what isn't touched keeps its bytes
        where JSON allows.
        """
        ...


def parse_message(messages: MessageFormat, raw: bytes) -> ParsedMessage:
    """Read a message as it stands in a body; one that can't be read is left alone."""
    try:
        return messages.parse(decode(raw))
    except ValueError:
        return UNPARSED
