"""Messages whose texts are a transcript: read as the calls, results and user's words that they hold."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from crosswind.gateway.protocols.message_format import (
    SEGMENTS,
    MessageFormat,
    ParsedMessage,
    Replacements,
    Segment,
    TextPart,
    ToolResultPart,
)
from crosswind.gateway.transcripts.transcript import Piece, Speaker, markers, read_policy, read_user
from crosswind.injectors.conversation import ToolCall


def read_transcript(read: ParsedMessage, calls: Sequence[ToolCall] = ()) -> ParsedMessage:
    """The message as a transcript says it; itself where it is none. `calls` are those of the message
    before it.
    """
    if read.own_text and not read.calls and markers().search(read.own_text):
        said = read_policy(read.own_text)
        return read if said is None else structs.replace(read, written_calls=said.calls)
    return _read_user(read, calls) if read.is_user else read


def _read_user(read: ParsedMessage, calls: Sequence[ToolCall]) -> ParsedMessage:
    parts: list[TextPart | ToolResultPart] = []
    segments: list[Segment] = []
    steps: list[str] = []
    found = False
    for part in read.parts:
        told = None
        if isinstance(part, TextPart) and markers().search(part.text):
            told = read_user(part.text, calls)
        if told is None or not isinstance(part, TextPart):
            parts.append(part)
            continue
        found = True
        steps += told.steps
        for piece in told.pieces:
            one = TextPart(SEGMENTS + len(segments), part.text[piece.start : piece.end])
            segments.append(Segment(part.place, part.text, piece.start, piece.end))
            parts.append(_read_piece(piece, one))
    if not found:
        return read
    is_user = any(isinstance(part, TextPart) for part in parts) or not parts
    return structs.replace(
        read, parts=tuple(parts), is_user=is_user, segments=tuple(segments), steps=tuple(steps)
    )


def _read_piece(piece: Piece, text: TextPart) -> TextPart | ToolResultPart:
    if piece.speaker is Speaker.USER:
        return text
    call = piece.call
    if call is not None and call.call_id:
        return ToolResultPart(call.call_id, call.name, (text,))
    return ToolResultPart("", "", (text,), call or ToolCall("", "", "{}"))


def write_message(
    messages: MessageFormat, raw: bytes, replacements: Replacements, segments: Sequence[Segment]
) -> bytes:
    """The message with texts replaced, and segments of texts."""
    whole = [(place, text) for place, text in replacements if place is None or place < SEGMENTS]
    pieces: dict[int | None, list[tuple[Segment, str]]] = {}
    for place, text in replacements:
        if place is not None and place >= SEGMENTS:
            segment = segments[place - SEGMENTS]
            pieces.setdefault(segment.place, []).append((segment, text))
    for at, changed in pieces.items():
        out, end, before = [], 0, changed[0][0].whole
        for segment, text in sorted(changed, key=lambda one: one[0].start):
            out += [before[end : segment.start], text]
            end = segment.end
        whole.append((at, "".join([*out, before[end:]])))
    return messages.write(raw, whole)
