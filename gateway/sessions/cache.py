"""Sessions that are kept in memory, up to a number and a size; others are read back when they return."""

from __future__ import annotations

from collections import OrderedDict

from crosswind.gateway.config.sections import Limits
from crosswind.gateway.sessions.session import LiveSession

_LOOKED_AT = 64
"""How many sessions that must stay are passed over when one has to go: the look may not grow with them."""


class SessionCache:
    """The sessions in memory, the one that was used last at the end.

    One stays while a turn of it is in flight or its rows wait for the store: it couldn't be read back whole.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._bytes = 0
        self._sessions: OrderedDict[str, LiveSession] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def __contains__(self, session_id: str) -> bool:
        return session_id in self._sessions

    @property
    def bytes(self) -> int:
        """About how much memory they take."""
        return self._bytes

    def get(self, session_id: str) -> LiveSession | None:
        """The session of this name, which is now the one that was used last."""
        session = self._sessions.get(session_id)
        if session is not None:
            self._sessions.move_to_end(session_id)
        return session

    def add(self, session: LiveSession) -> None:
        """Keep a session, in place of one of its name."""
        self.remove(session.record.id)
        self._sessions[session.record.id] = session
        self.weigh(session)

    def remove(self, session_id: str) -> None:
        """Keep it no longer."""
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self._bytes -= session.weighed

    def weigh(self, session: LiveSession) -> None:
        """Take its size anew, and let go of those that were not used for the longest time, if need be."""
        if self._sessions.get(session.record.id) is session:
            self._bytes -= session.weighed
            session.weighed = session.size()
            self._bytes += session.weighed
        while self._too_many() and (name := self._dispensable(session)) is not None:
            self.remove(name)

    def _too_many(self) -> bool:
        return len(self._sessions) > self.limits.live_sessions or self._bytes > self.limits.live_bytes

    def _dispensable(self, but: LiveSession) -> str | None:
        passed: list[str] = []
        found = None
        for name, session in self._sessions.items():
            if session.dispensable and session is not but:
                found = name
                break
            passed.append(name)
            if len(passed) == _LOOKED_AT:
                break
        # So that the next look does not meet them again: they are in use, or were a moment ago.
        for name in passed:
            self._sessions.move_to_end(name)
        return found
