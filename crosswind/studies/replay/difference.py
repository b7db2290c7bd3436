"""Where two JSON documents differ, by path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from crosswind.gateway.protocols.document import decode

_NOTHING = object()


@dataclass(frozen=True, slots=True)
class Difference:
    """One place: `before` or `after` is None where the place exists in the other one only."""

    path: str
    before: Any
    after: Any


def differences(before: bytes, after: bytes, ignored: frozenset[str] = frozenset()) -> list[Difference]:
    """The places where two bodies differ; the whole, as text, where one is no JSON. `ignored` names members
    that don't count, at any depth.
    """
    if before == after:
        return []
    try:
        documents = decode(before), decode(after)
    except (ValueError, RecursionError):
        return [Difference("", before.decode(errors="replace"), after.decode(errors="replace"))]
    found = list(_walk("", *documents, ignored))
    return found or ([] if ignored else [Difference("", "the same values", "in other bytes")])


def _walk(path: str, before: Any, after: Any, ignored: frozenset[str]) -> Iterator[Difference]:
    if isinstance(before, dict) and isinstance(after, dict):
        for name in dict.fromkeys((*before, *after)):
            if name not in ignored:
                old, new = before.get(name, _NOTHING), after.get(name, _NOTHING)
                yield from _walk(f"{path}.{name}" if path else name, old, new, ignored)
    elif isinstance(before, list) and isinstance(after, list):
        for at in range(max(len(before), len(after))):
            old, new = (each[at] if at < len(each) else _NOTHING for each in (before, after))
            yield from _walk(f"{path}[{at}]", old, new, ignored)
    elif before is _NOTHING or after is _NOTHING or type(before) is not type(after) or before != after:
        yield Difference(path, *(None if each is _NOTHING else each for each in (before, after)))
