"""The kinds of engines there are, and which of them a server is."""

from __future__ import annotations

from crosswind.policies.engine import REQUEST_TIMEOUT_S, Engine, EngineAway, EngineError
from crosswind.policies.kinds import find_kinds

ENTRY_POINTS = "crosswind.publishers"
_RECOGNISED_WITHIN = 10.0
"""Seconds that a server may take to say what it is."""


def publishers() -> dict[str, type[Engine]]:
    return find_kinds("crosswind.policies.publishers", ENTRY_POINTS, "recognises")


def connect(url: str, *, timeout: float = REQUEST_TIMEOUT_S) -> Engine:
    """The engine at this URL, by what it says of itself. The caller closes it. Raises EngineError.

    A server with which nothing can be done but ask it (a hosted provider) is an engine too: see `hosted`.
    """
    known, within_s = publishers(), min(timeout, _RECOGNISED_WITHIN)
    for kind in sorted(known.values(), key=lambda kind: kind.name == "hosted"):
        if kind.recognises(url, within_s):
            return kind(url, timeout=timeout)
    if "://" not in url:
        raise EngineError(f"{url}: it is no URL of an engine; give its URL, as http://host:port")
    raise EngineAway(
        f"{url}: no engine answers there within {within_s:g} s that is one of {', '.join(sorted(known))}; "
        "is it up?"
    )
