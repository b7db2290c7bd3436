"""Values replaced deep inside a JSON text, all else byte for byte."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crosswind.gateway.protocols.document import Document, decode, element_spans, encode

JsonPath = tuple[str | int, ...]
"""Member names and indices from the outermost value on."""


def replace_values(raw: bytes, values: Mapping[JsonPath, Any]) -> bytes:
    """The JSON text with the values at these paths, which must exist, replaced.

    An object that names a member twice, whose parts can't be told apart, is encoded anew.
    """
    if () in values:
        return encode(values[()])
    below: dict[str | int, dict[JsonPath, Any]] = {}
    for path, value in values.items():
        below.setdefault(path[0], {})[path[1:]] = value
    spans = _spans(raw)
    if spans is None:
        return encode(_with(decode(raw), values))
    out, position = [], 0
    for (start, end), inner in sorted((spans[key], inner) for key, inner in below.items()):
        out += [raw[position:start], replace_values(raw[start:end], inner)]
        position = end
    return b"".join([*out, raw[position:]])


def _spans(raw: bytes) -> Mapping[str | int, tuple[int, int]] | None:
    """Where an object's members, or an array's elements, stand."""
    spans: dict[str | int, tuple[int, int]] = {}
    document = Document.parse(raw)
    if document is not None:
        spans.update((name, (span.start, span.end)) for name, span in document.members.items())
        return spans
    found = element_spans(raw, 0, len(raw)) if raw.startswith(b"[") else None
    if found is None:
        return None
    spans.update(enumerate(found))
    return spans


def _with(value: Any, values: Mapping[JsonPath, Any]) -> Any:
    for path, replacement in values.items():
        holder = value
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = replacement
    return value
