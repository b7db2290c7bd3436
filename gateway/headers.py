"""Header fields: which of them go on to the next hop, and which hold credentials."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

Headers = list[tuple[bytes, bytes]]
"""Names are in lower case as ASGI gives them, and in any case as an upstream does."""

Changes = Mapping[bytes, bytes | None]
"""Fields to set, or to drop (None)."""

HOP_BY_HOP = frozenset(
    {
        b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection",
        b"te", b"trailer", b"transfer-encoding", b"upgrade",
    }
)  # fmt: skip
OWN_PREFIX = b"x-crosswind-"
CREDENTIALS = (b"authorization", b"api-key", b"x-api-key", b"x-goog-api-key")


def end_to_end(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """The headers that are not for one hop only, those that `Connection` names left out too."""
    kept: Headers = []
    named: set[bytes] = set()
    for field in headers:
        name = field[0].lower()
        if name == b"connection":
            named.update(token.strip().lower() for token in field[1].split(b","))
        elif name not in HOP_BY_HOP:
            kept.append(field)
    if named <= HOP_BY_HOP:
        return kept
    return [field for field in kept if field[0].lower() not in named]


def forwarded(headers: Iterable[tuple[bytes, bytes]], changes: Changes) -> Headers:
    """A client's headers as the upstream gets them: no hop-by-hop ones, none of ours, `changes` applied."""
    kept = [
        (name, value)
        for name, value in end_to_end(headers)
        if name not in (b"host", b"expect") and not name.startswith(OWN_PREFIX) and name not in changes
    ]
    return kept + [(name, value) for name, value in changes.items() if value is not None]
