"""Texts in a `content` member, a string or an array of parts: read, and written back, all else as it was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from crosswind.gateway.protocols.document import UNREADABLE, Document, decode, encode
from crosswind.gateway.protocols.document import element_spans as array_spans

_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_parts = msgspec.json.Decoder(list[msgspec.Raw])


def read_content_texts(content: Any, kinds: Sequence[str] = ("text",)) -> list[tuple[int | None, str]]:
    """(part, text) of a content: None for a plain string, else the index of a part of one of these types."""
    if isinstance(content, str):
        return [(None, content)]
    if not isinstance(content, list):
        return []
    return [
        (index, part["text"])
        for index, part in enumerate(content)
        if isinstance(part, dict) and part.get("type") in kinds and isinstance(part.get("text"), str)
    ]


def write_content_texts(
    raw: bytes, replacements: Sequence[tuple[int | None, str]], member: str = "content"
) -> bytes:
    """Write texts of one member of a JSON object, at places that `read_content_texts` gave."""
    members = split_object(raw)
    for part, text in replacements:
        members[member] = _with_text(members[member], part, text)
    return encode(members)


def split_object(raw: bytes) -> dict[str, Any]:
    """An object with its values left as raw JSON; encoded anew where they can't be left so."""
    try:
        members: dict[str, Any] = _members.decode(raw)
    except UNREADABLE:
        document = Document.parse(raw)
        parsed = document and {name: msgspec.Raw(document.raw(name) or b"") for name in document.members}
        members = parsed or {name: msgspec.Raw(encode(value)) for name, value in decode(raw).items()}
    return members


def split_array(raw: Any) -> list[bytes]:
    """The elements of an array, as JSON text each; none where it is no array."""
    if raw is None:
        return []
    try:
        found = _parts.decode(raw if isinstance(raw, bytes) else bytes(raw))
    except (*UNREADABLE, TypeError):
        value = decode(bytes(raw)) if isinstance(raw, bytes | msgspec.Raw) else raw
        return [encode(element) for element in value] if isinstance(value, list) else []
    return [bytes(element) for element in found]


def _with_text(content: Any, part: int | None, text: str) -> Any:
    if part is None:
        return msgspec.Raw(encode(text))
    parts: list[Any] = _parts_of(bytes(content)) if isinstance(content, msgspec.Raw) else content
    block: dict[str, Any] = (
        split_object(bytes(parts[part])) if isinstance(parts[part], msgspec.Raw) else parts[part]
    )
    parts[part] = {**block, "text": msgspec.Raw(encode(text))}
    return parts


def _parts_of(raw: bytes) -> list[msgspec.Raw]:
    """The elements of an array, each as it stands."""
    return [msgspec.Raw(raw[start:end]) for start, end in array_spans(raw, 0, len(raw)) or ()]
