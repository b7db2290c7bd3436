"""Values of our types from plain data, in any thread."""

from __future__ import annotations

from threading import Lock
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_prepared: set[type] = set()
_preparing = Lock()


def convert(data: Any, kind: type[T]) -> T:
    """`msgspec.convert`. Raises msgspec.ValidationError.

    msgspec reads a type's fields when it is first used, and other threads that use the type meanwhile
    crash the process: so that happens under a lock.
    """
    if kind not in _prepared:
        with _preparing:
            msgspec.json.Decoder(kind)
            _prepared.add(kind)
    return msgspec.convert(data, kind)
