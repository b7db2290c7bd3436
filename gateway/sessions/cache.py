"""An LRU cache of live sessions, bounded by number and bytes; others are read from the store when they
return.
"""

from __future__ import annotations

from collections import OrderedDict

from crosswind.gateway.config.sections import Limits
from crosswind.gateway.sessions.session import LiveSession

_LOOKED_AT = 64
"""Busy sessions skipped in one search for a session to drop, so that the search stays short."""


class SessionCache:
    """The sessions in memory, least recently used first.

    A session stays while one of its turns is in flight or its rows wait for the store: until then it can't be
    read back whole.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._bytes = 0
        self._sessions: OrderedDict[str, LiveSession] = OrderedDict()
        self.peek = self._sessions.get
        """As `get`, without marking the session as used."""

    def __len__(self) -> int:
        return len(self._sessions)

    def __contains__(self, session_id: str) -> bool:
        return session_id in self._sessions

    @property
    def bytes(self) -> int:
        """Their approximate memory."""
        return self._bytes

    def get(self, session_id: str) -> LiveSession | None:
        """The session of this id, now the most recently used one."""
        session = self._sessions.get(session_id)
        if session is not None:
            self._sessions.move_to_end(session_id)
        return session

    def add(self, session: LiveSession) -> None:
        self.remove(session.record.id)
        self._sessions[session.record.id] = session
        self.weigh(session)

    def remove(self, session_id: str) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self._bytes -= session.weighed

    def clear(self) -> None:
        self._sessions.clear()
        self._bytes = 0

    def weigh(self, session: LiveSession) -> None:
        """Measure a session again, and drop the least recently used ones if there are too many."""
        sessions, limits = self._sessions, self.limits
        if sessions.get(session.record.id) is session:
            size = session.size()
            self._bytes += size - session.weighed
            session.weighed = size
        while len(sessions) > limits.live_sessions or self._bytes > limits.live_bytes:
            if (name := self._find_dispensable(session)) is None:
                break
            self.remove(name)

    def _find_dispensable(self, but: LiveSession) -> str | None:
        passed: list[str] = []
        found = None
        for name, session in self._sessions.items():
            if session.dispensable and session is not but:
                found = name
                break
            passed.append(name)
            if len(passed) == _LOOKED_AT:
                break
        # They are in use, or were a moment ago: the next search skips them.
        for name in passed:
            self._sessions.move_to_end(name)
        return found
