"""Whether a JSON value is valid by a tool's output schema, as far as that can be said.

The common keywords are checked. A schema with another keyword that restricts values is not judged, and the
value counts as invalid: noise then leaves the result alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

DEEPEST = 64
_TELLING = frozenset(
    (
        *("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "format"),
        *("$schema", "$id", "$comment", "$defs", "definitions", "contentEncoding", "contentMediaType"),
    )
)
"""Keywords that restrict nothing."""
_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "any": lambda value: True,
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: (
        not isinstance(value, bool)
        and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))
    ),
}


def is_valid(value: Any, schema: Any) -> bool:
    """Whether the value is certainly valid by the schema."""
    try:
        return _Validation(schema).check(value, schema, DEEPEST)
    except (TypeError, ValueError, KeyError, AttributeError, IndexError, re.error, RecursionError):
        return False


class _Validation:
    def __init__(self, root: Any) -> None:
        self._root = root

    def check(self, value: Any, schema: Any, depth: int) -> bool:
        if isinstance(schema, bool):
            return schema
        if depth == 0 or not isinstance(schema, Mapping):
            return False
        return all(
            keyword in _TELLING or keyword.startswith("x-") or self._holds(keyword, value, schema, depth - 1)
            for keyword in schema
        )

    def _holds(self, keyword: str, value: Any, schema: Mapping[str, Any], depth: int) -> bool:
        limit = schema[keyword]
        if keyword in _LIMITS:
            kind, check = _LIMITS[keyword]
            return not _TYPES[kind](value) or bool(check(value, limit))
        inner: dict[str, Callable[[], bool]] = {
            "$ref": lambda: self.check(value, self._find(limit), depth),
            "anyOf": lambda: any(self.check(value, one, depth) for one in limit),
            "oneOf": lambda: [self.check(value, one, depth) for one in limit].count(True) == 1,
            "allOf": lambda: all(self.check(value, one, depth) for one in limit),
            "items": lambda: (
                not isinstance(value, list) or all(self.check(one, limit, depth) for one in value)
            ),
            "properties": lambda: (
                not isinstance(value, dict)
                or all(self.check(value[name], one, depth) for name, one in limit.items() if name in value)
            ),
            "additionalProperties": lambda: (
                not isinstance(value, dict)
                or all(
                    self.check(one, limit, depth)
                    for name, one in value.items()
                    if name not in schema.get("properties", {})
                )
            ),
        }
        return keyword in inner and inner[keyword]()

    def _find(self, ref: str) -> Any:
        """What a reference within the schema names."""
        if not ref.startswith("#"):
            raise ValueError(ref)
        found = self._root
        for step in ref[1:].split("/")[1:]:
            found = found[step.replace("~1", "/").replace("~0", "~")]
        return found


def _same(one: Any, other: Any) -> bool:
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)


def _is_of_type(value: Any, kinds: Any) -> bool:
    return any(_TYPES[kind](value) for kind in ([kinds] if isinstance(kinds, str) else kinds))


_LIMITS: Mapping[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "type": ("any", _is_of_type),
    "enum": ("any", lambda value, limit: any(_same(value, one) for one in limit)),
    "const": ("any", _same),
    "required": ("object", lambda value, limit: all(name in value for name in limit)),
    "minItems": ("array", lambda value, limit: len(value) >= limit),
    "maxItems": ("array", lambda value, limit: len(value) <= limit),
    "minLength": ("string", lambda value, limit: len(value) >= limit),
    "maxLength": ("string", lambda value, limit: len(value) <= limit),
    "pattern": ("string", lambda value, limit: re.search(limit, value)),
    "minimum": ("number", lambda value, limit: value >= limit),
    "maximum": ("number", lambda value, limit: value <= limit),
    "exclusiveMinimum": ("number", lambda value, limit: value > limit),
    "exclusiveMaximum": ("number", lambda value, limit: value < limit),
}
"""Keywords that look at the value alone: the type that they restrict, and whether the value meets them."""
