"""What clients and upstreams send, read as what it ought to be: anything may stand in its place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crosswind.gateway.protocols.document import decode


def as_object(data: bytes) -> dict[str, Any] | None:
    """A JSON object; None where the data are none."""
    try:
        value = decode(data)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def as_mapping(value: Any) -> dict[str, Any]:
    """The value where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_text(holder: Mapping[str, Any], name: str) -> str:
    """A text member; empty where it is none."""
    value = holder.get(name)
    return value if isinstance(value, str) else ""
