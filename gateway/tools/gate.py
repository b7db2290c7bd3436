"""Which messages may concern noise. The standard library only: a shell asks before the rest is imported."""

from __future__ import annotations

_MARKS = (b"tools/call", b"tools/list", b"tools\\/call", b"tools\\/list")
"""Some encoders escape slashes."""
_CANCELLED = (b"notifications/cancelled", b"notifications\\/cancelled")


def may_concern_client(raw: bytes) -> bool:
    """Whether a client's message may be a call of a tool, or ask for the list of tools."""
    return any(mark in raw for mark in _MARKS)


def may_cancel(raw: bytes) -> bool:
    """Whether a client's message may give a request up."""
    return any(mark in raw for mark in _CANCELLED)
