"""JSON values, and what may stand in their place: clients and upstreams send anything."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for bytes that it can't read: no JSON, too lax a JSON, or nested too deeply."""


def decode(raw: bytes) -> Any:
    """Decode JSON, with lone surrogates, which strict decoders refuse and Python clients send.

    ValueError where it is none, or nested too deeply.
    """
    try:
        return msgspec.json.decode(raw)
    except UNREADABLE:
        try:
            # As text: of bytes Python would guess the encoding.
            return json.loads(raw.decode("utf-8", "surrogatepass"))
        except RecursionError:
            raise ValueError("the JSON is nested too deeply") from None


def decode_or_none(raw: bytes | None) -> Any:
    """Decode JSON; None where there is none, or it can't be read."""
    try:
        return None if raw is None else decode(raw)
    except ValueError:
        return None


def encode(value: Any) -> bytes:
    """Encode JSON compactly; text with lone surrogates is escaped."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"), default=lambda raw: decode(bytes(raw))).encode()


def encode_text(value: Any) -> str:
    """Encode JSON as a string."""
    return encode(value).decode("utf-8", "surrogatepass")


def as_object(data: bytes) -> dict[str, Any] | None:
    """Decode a JSON object; None where the data are none."""
    value = decode_or_none(data)
    return value if isinstance(value, dict) else None


def as_mapping(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The value if it is an array, else an empty one."""
    return value if isinstance(value, list) else []


def as_mappings(value: Any) -> list[dict[str, Any]]:
    """The objects in an array; none where it isn't one."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def as_text(holder: Mapping[str, Any], name: str, default: str = "") -> str:
    """A text member, or the default."""
    value = holder.get(name)
    return value if isinstance(value, str) else default


def text_or_none(value: Any) -> str | None:
    """The value if it is a text, else None."""
    return value if isinstance(value, str) else None
