"""Header fields: which go on to the next hop, and which hold credentials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Headers = list[tuple[bytes, bytes]]
"""ASGI's names are in lower case; an upstream's are in any case."""

Changes = Mapping[bytes, bytes | None]
"""Fields to set, or to drop (None)."""

HOP_BY_HOP = frozenset(
    {
        b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection",
        b"te", b"trailer", b"transfer-encoding", b"upgrade",
    }
)  # fmt: skip
_NOT_FORWARDED = HOP_BY_HOP | {b"host", b"expect"}
_USUAL = (b"keep-alive", b"close")
"""The usual values of `Connection`, which name no header to drop."""
OWN_PREFIX = b"x-crosswind-"
_OWN = len(OWN_PREFIX)
VIA = b"x-crosswind-via"
"""The marks of the gateways that a request came through, by which one recognises its own."""
CREDENTIALS = (b"authorization", b"api-key", b"x-api-key", b"x-goog-api-key")


def drop_hop_by_hop(headers: Sequence[tuple[bytes, bytes]]) -> Headers:
    """The headers without those for one hop only, which `Connection` may name."""
    kept = [field for field in headers if field[0].lower() not in HOP_BY_HOP]
    if len(kept) == len(headers):
        return kept  # no `Connection` either
    return _without_named(kept, [value for name, value in headers if name.lower() == b"connection"])


def forward_headers(headers: Sequence[tuple[bytes, bytes]], changes: Changes) -> Headers:
    """A client's headers for the upstream: without hop-by-hop ones and ours, with `changes` applied."""
    left_out = _NOT_FORWARDED.union(changes)
    kept = [field for field in headers if field[0] not in left_out and field[0][:_OWN] != OWN_PREFIX]
    kept = _without_named(kept, [value for name, value in headers if name == b"connection"])
    return kept + [(name, value) for name, value in changes.items() if value is not None]


def _without_named(kept: Headers, named: Sequence[bytes]) -> Headers:
    """Drop the headers that the values of `Connection` name."""
    if not [value for value in named if value not in _USUAL]:
        return kept
    tokens = {token.strip().lower() for value in named for token in value.split(b",")}
    return [field for field in kept if field[0].lower() not in tokens]
