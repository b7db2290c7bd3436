"""How much noise a session's tool traffic may still get, beyond the plan's own bounds."""

from __future__ import annotations

from typing import Protocol


class Allowance(Protocol):
    """How much noise whoever ordered it leaves, beyond the plan's own bounds."""

    def count_left(self) -> int | None:
        """Injections that may still take place; None: as many as come."""
        ...

    def take(self, count: int) -> None:
        """So many take place."""
        ...


class _Unlimited:
    def count_left(self) -> int | None:
        return None

    def take(self, count: int) -> None:
        pass


UNLIMITED = _Unlimited()
