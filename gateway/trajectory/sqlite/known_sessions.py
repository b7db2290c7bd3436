"""What the sessions that wrote last are known to have stored, in a bounded memory."""

from __future__ import annotations

from collections import OrderedDict

from crosswind.gateway.trajectory.session_content import SessionContent


class KnownSessions:
    """The content of the sessions that wrote last, `capacity_bytes` of memory in all.

    It saves looking for a turn's predecessors in the store. Turns never change and numbers are never given
    again, so that what is known of a number stays true whatever other processes do.
    """

    def __init__(self, capacity_bytes: int = 16 * 2**20) -> None:
        self._capacity_bytes = capacity_bytes
        self._bytes = 0
        self._known: OrderedDict[str, SessionContent] = OrderedDict()
        self._next: tuple[int, int] | None = None
        """A state of the store, and the number that the next session gets in it."""

    def next_number(self, state: int) -> int | None:
        """The number that the next session gets, if it is known and no session was deleted of late."""
        return self._next[1] if self._next is not None and self._next[0] == state else None

    def remember_next(self, number: int | None, state: int) -> None:
        """Remember the number that the next session gets, None if sessions were deleted. Call this once it is
        on disk."""
        self._next = None if number is None else (state, number)

    def find(self, session_id: str, state: int) -> SessionContent | None:
        """The session, if the store was in this state when it was last seen in it."""
        known = self._known.get(session_id)
        return known if known is not None and known.seen == state else None

    def take(self, session_id: str, number: int) -> SessionContent | None:
        """Take out what is known of a session, until `remember` puts it back."""
        known = self._known.pop(session_id, None)
        if known is None:
            return None
        self._bytes -= known.bytes
        return known if known.number == number else None

    def forget(self, session_id: str) -> SessionContent | None:
        known = self._known.pop(session_id, None)
        if known is not None:
            self._bytes -= known.bytes
        return known

    def remember(self, session_id: str, content: SessionContent, state: int) -> None:
        """Put back what is known of a session that has written in this state of the store. Call this once it
        is on disk."""
        content.seen, content.load = state, None
        self._known[session_id] = content
        self._bytes += content.bytes
        while self._bytes > self._capacity_bytes:
            _, gone = self._known.popitem(last=False)
            self._bytes -= gone.bytes
