"""Where third parties' operators run: here, or where whoever asks for noise has confined them to.

Our own operators are pure, and tested to be. Of others nobody knows: they may raise, stall, or give what no
operator may give. What they give is checked in any case (`crosswind.injectors.third_party.contract`); a host
of live traffic confines them besides, to a process that it can kill.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from crosswind.injectors.operator import Draw, Registered, Result
    from crosswind.injectors.streams import Stream


class OperatorFailed(Exception):
    """A third party's operator did what none may; the message says what, as part of a sentence."""


class Confinement(Protocol):
    """Runs third parties' operators elsewhere. Both methods raise OperatorFailed."""

    def draw(
        self, entry: Registered, options: Mapping[str, Any], target: Any, rng: Stream, severity: float
    ) -> Draw | None: ...

    def apply(self, entry: Registered, target: Any, draw: Draw) -> Result: ...


_current: ContextVar[Confinement | None] = ContextVar("confinement", default=None)


def current() -> Confinement | None:
    """Where third parties' operators run now; None: here."""
    return _current.get()


@contextmanager
def confined(by: Confinement) -> Iterator[None]:
    """Run third parties' operators there within the block, in this context only."""
    token = _current.set(by)
    try:
        yield
    finally:
        _current.reset(token)
