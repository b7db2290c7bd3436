"""Whether a call's arguments are of the types that its tool declares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .package import Document

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (dict,),
}


def find_mismatch(tool: Document, arguments: Mapping[str, Any]) -> str | None:
    """What is wrong with the first argument that is unknown or of another type; None: they are in order."""
    declared = tool["parameters"].get("properties", {})
    for name, value in arguments.items():
        if name not in declared:
            return f"{tool['name']} takes no {name}"
        kind = declared[name].get("type")
        wanted = _TYPES.get(kind) if isinstance(kind, str) else None
        if wanted and (not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted)):
            return f"{name} must be of type {kind}"
    return None
