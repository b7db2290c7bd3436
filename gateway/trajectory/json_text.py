"""JSON values and text as a store keeps them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec
import orjson


def _to_dict(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a {type(value).__name__} is no JSON value")


_PLAIN_DATA = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
_readable = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_to_dict
).encode
_ascii = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"), default=_to_dict).encode


_with_infinities = json.JSONEncoder(separators=(",", ":"), default=_to_dict).encode


def to_json_with_infinities(value: Any) -> str:
    """JSON text of plain data that may hold infinite numbers, such as log-probabilities."""
    try:
        return to_json(value)
    except ValueError:
        return _with_infinities(value)


def to_json(value: Any) -> str:
    """JSON text of plain data. NaN and infinity are refused: null would be another value."""
    if not value:
        return "{}" if isinstance(value, dict) else "[]" if isinstance(value, tuple) else _readable(value)
    try:
        quick = orjson.dumps(value, option=_PLAIN_DATA)
    except TypeError:
        pass  # lone surrogates, great integers, keys that are no text, or no plain data at all
    else:
        if b"null" not in quick or _is_finite(value, quick):
            return quick.decode()
    body = _readable(value)
    return body if storable(body) is body else _ascii(value)


def _is_finite(value: Any, body: bytes) -> bool:
    """Whether the JSON text tells the value's numbers: NaN and infinity come out as null, too."""
    try:
        # A format that knows them, and knows no tuples either. Valid text can't hold these two bytes.
        packed = msgspec.msgpack.encode(value)
        if b"\xcb\x7f" not in packed and b"\xcb\xff" not in packed:
            return True
        return bool(msgspec.msgpack.decode(packed) == orjson.loads(body))
    except (TypeError, OverflowError, msgspec.MsgspecError):
        return False


def text(value: Any) -> Any:
    """The text that `storable` made of it; other values as they are."""
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value


def from_json(value: Any) -> Any:
    if value == "{}":
        return {}
    try:
        return msgspec.json.decode(value)
    except (msgspec.MsgspecError, UnicodeEncodeError):  # lone surrogates, or numbers that aren't finite
        return json.loads(text(value))


def storable(value: Any) -> Any:
    """The value as a store can take it: text with lone surrogates as WTF-8 bytes."""
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode("utf-8", "surrogatepass")
    return value
