"""Which messages may concern noise. The standard library only: a shell asks before the rest is imported."""

from __future__ import annotations

_MARKS = (
    *(b"tools/call", b"tools/list", b"tools\\/call", b"tools\\/list"),
    *(b"subscriptions/listen", b"subscriptions\\/listen"),
    *(b"tasks/get", b"tasks/result", b"tasks/cancel", b"tasks\\/get", b"tasks\\/result", b"tasks\\/cancel"),
)
"""Some encoders escape slashes."""
_CANCELLED = (b"notifications/cancelled", b"notifications\\/cancelled")


def may_concern_client(raw: bytes) -> bool:
    """Whether a client's message may be a call of a tool or about its task, ask for the list of tools, or ask
    to be told of changes."""
    return any(mark in raw for mark in _MARKS)


def may_cancel(raw: bytes) -> bool:
    """Whether a client's message may give a request up."""
    return any(mark in raw for mark in _CANCELLED)


def may_declare(raw: bytes) -> bool:
    """Whether a server's message may be its answer to `initialize` that declares notifications."""
    return len(raw) < _LONGEST_ANSWER and b'"protocolVersion"' in raw and b'"listChanged"' in raw


_LONGEST_ANSWER = 1 << 16
