"""The cases: which conversations are held, over how many connections, and how many requests are counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.gateway.conversations import Shape

SHORT = Shape(system=200, tools=2, result=160, user=110)
CHAT = Shape(system=100, tools=2, result=0, user=110, streamed=True)
LONG = Shape(system=1500, tools=12, result=1150, user=250)


@dataclass(frozen=True, slots=True)
class Kind:
    """Which turns of a conversation are sent. Turns are counted from 1.

    The gateway has met all turns before `first` when counting starts, as it would have in the conversation's
    course: one uncounted request brings them. Where `known` is False, every request opens a session of its
    own.
    """

    name: str
    about: str
    shape: Shape
    first: int
    last: int
    known: bool = True
    paced: bool = False

    @property
    def turns(self) -> int:
        """How many counted requests a conversation has."""
        return self.last - self.first + 1


KINDS = {
    kind.name: kind
    for kind in (
        Kind("2k", "2 KB: whole conversations, turns 1 to 4", SHORT, 1, 4),
        Kind("60k", "60 KB: turns 37 to 44 of a conversation", LONG, 37, 44),
        Kind("60k new", "60 KB, 40 turns, each request in a session never seen", LONG, 40, 40, known=False),
        Kind("600k", "600 KB: turns 397 to 404 of a conversation", LONG, 397, 404),
        Kind("stream", "2 KB: turns 1 to 3, streamed in 64 chunks at once", CHAT, 1, 3),
        Kind("stream, paced", "the same, a chunk every 2 ms", CHAT, 1, 3, paced=True),
    )
}


@dataclass(frozen=True, slots=True)
class Case:
    """A kind of conversation over so many connections. `slow` is the count for slow contestants."""

    kind: Kind
    connections: int
    requests: int
    slow: int

    @property
    def key(self) -> str:
        return f"{self.kind.name}, {self.connections}"

    def conversations(self, *, slow: bool) -> int:
        """How many conversations each connection holds, one after another: one at least."""
        wanted = self.slow if slow else self.requests
        return max(1, round(wanted / self.kind.turns / self.connections))


FULL = (
    ("2k", 1, 1200, 80),
    ("2k", 16, 4096, 256),
    ("2k", 128, 4096, 512),
    ("60k", 1, 400, 48),
    ("60k", 16, 2048, 128),
    ("60k", 128, 2048, 1024),
    ("60k new", 16, 480, 96),
    ("600k", 1, 64, 16),
    ("stream", 1, 400, 60),
    ("stream", 16, 2016, 144),
    ("stream", 128, 1920, 384),
    ("stream, paced", 16, 576, 96),
)
QUICK = (
    ("2k", 1, 200, 40),
    ("2k", 16, 768, 64),
    ("60k", 1, 80, 16),
    ("60k", 16, 384, 128),
    ("60k new", 16, 96, 32),
    ("600k", 1, 16, 8),
    ("stream", 1, 90, 15),
    ("stream", 16, 384, 48),
    ("stream, paced", 16, 192, 48),
)


def cases(*, quick: bool) -> Iterator[Case]:
    """The cases of a run, in the order in which they are measured."""
    for name, connections, requests, slow in QUICK if quick else FULL:
        yield Case(KINDS[name], connections, requests, slow)
