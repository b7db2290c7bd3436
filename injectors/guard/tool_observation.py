"""What the calls on a branch showed of their tools: it can only lower the trust in them.

A read that gives another result when it is made again, with no write in between, isn't one that a retry
brings back; or one of the calls in between wrote, although it seemed to read. None of these is trusted from
then on.
"""

from __future__ import annotations

import msgspec


class ObservedCalls(msgspec.Struct, gc=False):
    """The calls of one branch, as far as they were answered. A copy shares what it doesn't change."""

    doubted: frozenset[str] = frozenset()
    """Tools that aren't taken for read-only any more."""
    _calls: int = 0
    _last_write: int = 0
    _results: dict[str, tuple[int, int]] = {}
    """By logical call: the number of the last one, and its result's hash."""
    _last: dict[str, int] = {}
    """By tool: the number of its last call."""
    _shared: bool = False
    """Whether a copy may have the same results and calls."""

    def copy(self) -> ObservedCalls:
        self._shared = True
        return ObservedCalls(
            self.doubted, self._calls, self._last_write, self._results, self._last, _shared=True
        )

    def add(self, tool: str, logical_call: str, result: str, *, reads: bool) -> None:
        """Count an answered call. `reads`: the tool is taken for one that only reads."""
        if self._shared:
            self._results, self._last, self._shared = self._results.copy(), self._last.copy(), False
        self._calls += 1
        self._last[tool] = self._calls
        said = hash(result)
        if not reads:
            self._last_write = self._calls
        elif logical_call in self._results:
            before, was = self._results[logical_call]
            if was != said and self._last_write <= before:
                self.doubted = self.doubted.union(one for one, at in self._last.items() if at > before)
        self._results[logical_call] = self._calls, said
