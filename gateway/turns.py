"""A session's turns in memory: which index, attempt, parent and branch the next one gets, and its tokens'
chain.
"""

from __future__ import annotations

import sys
from array import array
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gateway.trajectory.content import Chain
from gateway.trajectory.record import Turn

MAIN_BRANCH = ""
_REMEMBERED = 64


@dataclass(frozen=True, slots=True)
class Place:
    """Where a turn stands in its session."""

    index: int
    attempt: int = 0
    parent: int | None = None
    branch: str = MAIN_BRANCH


@dataclass(slots=True)
class _Head:
    place: Place
    continued: bool = False


class TurnLine:
    """Places of turns. A turn's parent is the one whose messages its own begin with; a second child is a
    branch.
    """

    def __init__(self, turns: Iterable[Turn] = ()) -> None:
        self._next = 0
        self._heads: dict[bytes, _Head] = {}
        self._requests: OrderedDict[bytes, Place] = OrderedDict()
        for turn in turns:
            self._next = max(self._next, turn.index + 1)
            chain = turn.received.chain if turn.received else None
            if parent := self._head_of(chain.parent if chain else None):
                parent.continued = True
            if chain is not None:
                self._heads[chain.key] = _Head(Place(turn.index, turn.attempt, turn.parent, turn.branch))

    def place(self, chain: Chain | None, digest: bytes, *, retry: bool) -> Place:
        """The place of a request with these messages. A marked retry of an equal body is one more attempt at
        its turn.
        """
        earlier = self._requests.get(digest)
        if retry and earlier is not None:
            place = Place(earlier.index, earlier.attempt + 1, earlier.parent, earlier.branch)
        else:
            place = self._new(chain)
        self._requests[digest] = place
        if len(self._requests) > _REMEMBERED:
            self._requests.popitem(last=False)
        return place

    def _new(self, chain: Chain | None) -> Place:
        index, self._next = self._next, self._next + 1
        if chain is None:
            return Place(index)
        same = self._heads.get(chain.key)
        head = self._head_of(chain.parent)
        if same is not None:
            place = Place(index, 0, same.place.parent, f"{chain.key.hex()[:12]}.{index}")
        elif head is None:
            place = Place(index, 0, None, f"{chain.key.hex()[:12]}" if self._heads else MAIN_BRANCH)
        else:
            branch = f"{chain.key.hex()[:12]}" if head.continued else head.place.branch
            head.continued = True
            place = Place(index, 0, head.place.index, branch)
        self._heads[chain.key] = _Head(place)
        return place

    def _head_of(self, node: Chain | None) -> _Head | None:
        """The nearest turn of which these messages are a continuation."""
        while node is not None:
            if head := self._heads.get(node.key):
                return head
            node = node.parent
        return None


class TokenLine:
    """Prompt token ids as chains: a prompt that begins with an earlier one is stored as what it adds."""

    def __init__(self) -> None:
        self._prompts: list[tuple[bytes, Chain]] = []

    def chain(self, token_ids: Sequence[int]) -> Chain:
        """The chain of a prompt's ids. OverflowError, TypeError where they aren't 32-bit integers."""
        prompt = packed(token_ids)
        known = [(start, node) for start, node in self._prompts if prompt.startswith(start)]
        start, parent = max(known, key=lambda one: len(one[0]), default=(b"", None))
        if parent is not None and start == prompt:
            return parent
        chain = Chain(parent, prompt[len(start) :])
        self._prompts = [*self._prompts[-7:], (prompt, chain)]
        return chain


def packed(token_ids: Sequence[int]) -> bytes:
    """Token ids as little-endian int32."""
    numbers = array("i", token_ids)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()
