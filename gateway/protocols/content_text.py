"""The texts of a `content` member, which is a string or an array of parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from crosswind.gateway.protocols.document import element_spans, split_object
from crosswind.gateway.protocols.json_values import encode


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


def write_content_texts(raw: bytes, replacements: Sequence[tuple[int | None, str]]) -> bytes:
    """Write texts into an object's `content`, at places that `read_content_texts` gave."""
    members = split_object(raw)
    for part, text in replacements:
        members["content"] = _with_text(members["content"], part, text)
    return encode(members)


def _with_text(content: Any, part: int | None, text: str) -> Any:
    written = msgspec.Raw(encode(text))
    if part is None:
        return written
    parts: list[Any] = content
    if isinstance(content, msgspec.Raw):
        whole = bytes(content)
        parts = [msgspec.Raw(whole[start:end]) for start, end in element_spans(whole, 0, len(whole)) or ()]
    block = parts[part]
    parts[part] = (split_object(bytes(block)) if isinstance(block, msgspec.Raw) else block) | {
        "text": written
    }
    return parts
