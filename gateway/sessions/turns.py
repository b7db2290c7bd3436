"""A session's turns in memory: which index, attempt, parent and branch the next one gets, and its tokens'
chain.
"""

from __future__ import annotations

import sys
import time
from array import array
from collections import OrderedDict
from collections.abc import Iterable, Sequence

import msgspec

from crosswind.gateway.trajectory.content import Chain
from crosswind.gateway.trajectory.freshness import TurnHead
from crosswind.injectors.identity import digest

MAIN_BRANCH = ""
_REMEMBERED = 64
_APART = 10**15
"""Indexes from here on are times in microseconds: no count of turns gets there."""


class TurnPosition(msgspec.Struct, frozen=True):
    """Where a turn stands in its session."""

    index: int
    attempt: int = 0
    parent: int | None = None
    branch: str = MAIN_BRANCH


class TurnRequest(msgspec.Struct):
    """What bears on the place of a request: its messages, and the digest of its body."""

    chain: Chain | None
    digest: bytes
    retry: bool = False
    """Its client says that it sends it again."""
    after: str | None = None
    """The response that it says it comes after."""
    idempotency: str | None = None
    """The digest of the key under which its client sends it, once or several times."""


class _Head(msgspec.Struct):
    place: TurnPosition
    continued: bool = False


class TurnIndex:
    """Places of turns. A turn's parent is the one whose messages its own begin with; a second child is a
    branch.
    """

    def __init__(self, turns: Iterable[TurnHead] = ()) -> None:
        self.claimed = 0
        """Up to which claim of a place this line has them all, where workers share a session."""
        self._next = 0
        self._heads: dict[bytes, _Head] = {}
        self._said: dict[bytes, _Head] = {}
        """By what was said, where a client spells its history otherwise than it did."""
        self._by_index: dict[int, _Head] = {}
        self._by_response: dict[str, _Head] = {}
        self.responses: list[str] = []
        """The ids of all responses that the session got, in the order in which they became known."""
        self._requests: OrderedDict[bytes, TurnPosition] = OrderedDict()
        self._keys: OrderedDict[str, bytes] = OrderedDict()
        self._destroyed: set[tuple[int, int]] = set()
        self._met: dict[tuple[int, int], int] = {}
        self._met_in_all = 0
        self.learn(turns)

    def is_repeat(self, key: str | None, digest: bytes) -> bool:
        """Whether a request with this idempotency key and body came before."""
        return key is not None and self._keys.get(key) == digest

    @property
    def spent(self) -> int:
        """How many answers of the session noise destroyed."""
        return len(self._destroyed)

    def mark_destroyed(self, place: TurnPosition) -> None:
        """Noise destroyed the answer to this attempt at a turn."""
        self._destroyed.add((place.index, place.attempt))

    @property
    def met(self) -> int:
        """How often noise befell an exchange of the session, or its provider."""
        return self._met_in_all

    def add_injections(self, place: TurnPosition, count: int) -> None:
        """So much noise befell the exchange of this attempt at a turn."""
        key = place.index, place.attempt
        if count or key in self._met:
            self._met_in_all += count - self._met.get(key, 0)
            self._met[key] = count

    def learn(self, turns: Iterable[TurnHead]) -> None:
        """Take in turns that are in the store; those that are known already change nothing."""
        for turn in turns:
            place = TurnPosition(turn.index, turn.attempt, turn.parent, turn.branch)
            self.add(place, turn.received, turn.request, None, turn.idempotency)
            if turn.destroyed:
                self.mark_destroyed(place)
            self.add_injections(place, turn.met)
            if turn.response_id is not None:
                self.add_response(turn.index, turn.response_id)

    def add_response(self, index: int, response_id: str) -> None:
        """Take in which response a turn got: later requests may say that they come after it."""
        head = self._by_index.get(index)
        if head is not None and response_id not in self._by_response:
            self._by_response[response_id] = head
            self.responses.append(response_id)

    def add(
        self,
        place: TurnPosition,
        key: bytes | None,
        digest: bytes | None = None,
        says: bytes | None = None,
        idempotency: str | None = None,
    ) -> None:
        """Take in a turn that was placed elsewhere: `key` is its chain's, `says` what that says, `digest` its
        body's, and `idempotency` the key that its client gave it.
        """
        if digest is not None:
            self._remember(digest, place, idempotency)
        if place.index not in self._by_index:
            self._take(place, key)
        if says:
            self._said[says] = self._by_index[place.index]

    def _take(self, place: TurnPosition, key: bytes | None) -> None:
        if place.index < _APART:
            self._next = max(self._next, place.index + 1)
        if place.parent is not None and (parent := self._by_index.get(place.parent)):
            parent.continued = True
        self._by_index[place.index] = head = _Head(place)
        if key is not None:
            self._heads[key] = head

    def place(self, asked: TurnRequest, *, apart: bool = False) -> TurnPosition:
        """The place of a request. A marked retry of an equal body is one more attempt at its turn. `apart`:
        it can't be known which indexes are free, so one is taken where no other can be.
        """
        earlier = self._requests.get(asked.digest)
        if earlier is not None and (asked.retry or self.is_repeat(asked.idempotency, asked.digest)):
            place = TurnPosition(earlier.index, earlier.attempt + 1, earlier.parent, earlier.branch)
        else:
            place = self._new(asked.chain, _time_us() if apart else None, asked.after)
        self._remember(asked.digest, place, asked.idempotency)
        return place

    def _remember(self, digest: bytes, place: TurnPosition, idempotency: str | None) -> None:
        if idempotency is not None:
            self._keys[idempotency] = digest
            if len(self._keys) > _REMEMBERED:
                self._keys.popitem(last=False)
        known = self._requests.get(digest)
        if known is not None and (known.index, known.attempt) >= (place.index, place.attempt):
            return
        self._requests[digest] = place
        if len(self._requests) > _REMEMBERED:
            self._requests.popitem(last=False)

    def _new(self, chain: Chain | None, index: int | None, after: str | None) -> TurnPosition:
        if index is None:
            index, self._next = self._next, self._next + 1
        place = self._after(chain, index) if after is None else self._answering(after, chain, index)
        self._by_index[place.index] = head = _Head(place)
        if chain is not None and after is None:
            self._heads[chain.key] = head
            if chain.says:
                self._said[chain.says] = head
        return place

    def _after(self, chain: Chain | None, index: int) -> TurnPosition:
        if chain is None:
            return TurnPosition(index)
        same = self._heads.get(chain.key) or self._said.get(chain.says)
        if same is not None:
            return TurnPosition(index, 0, same.place.parent, f"{chain.key.hex()[:12]}.{index}")
        head = self._head_of(chain.parent)
        if head is None:
            return TurnPosition(index, 0, None, f"{chain.key.hex()[:12]}" if self._heads else MAIN_BRANCH)
        return self._continued(head, chain, index)

    def _answering(self, after: str, chain: Chain | None, index: int) -> TurnPosition:
        """The place of a request that names the response it comes after: its messages are not all."""
        head = self._by_response.get(after)
        if head is None:
            return TurnPosition(index, 0, None, digest(after)[:12] if self._by_index else MAIN_BRANCH)
        return self._continued(head, chain, index)

    def _continued(self, head: _Head, chain: Chain | None, index: int) -> TurnPosition:
        """A turn's first continuation stays on its branch."""
        branch = head.place.branch
        if head.continued:
            branch = chain.key.hex()[:12] if chain is not None else f"{head.place.index}.{index}"
        head.continued = True
        return TurnPosition(index, 0, head.place.index, branch)

    def _head_of(self, node: Chain | None) -> _Head | None:
        """The nearest turn of which these messages are a continuation."""
        while node is not None:
            if head := self._heads.get(node.key) or self._said.get(node.says):
                return head
            node = node.parent
        return None


def _time_us() -> int:
    return max(_APART, time.time_ns() // 1000)


class TokenChains:
    """Prompt token ids as chains: a prompt that begins with an earlier one is stored as what it adds."""

    def __init__(self) -> None:
        self._prompts: list[tuple[bytes, Chain]] = []

    def chain(self, token_ids: Sequence[int]) -> Chain:
        """The chain of a prompt's ids. OverflowError, TypeError where they aren't 32-bit integers."""
        prompt = pack_ids(token_ids)
        known = [(start, node) for start, node in self._prompts if prompt.startswith(start)]
        start, parent = max(known, key=lambda one: len(one[0]), default=(b"", None))
        if parent is not None and start == prompt:
            return parent
        chain = Chain(parent, prompt[len(start) :])
        self._prompts = [*self._prompts[-7:], (prompt, chain)]
        return chain


def pack_ids(token_ids: Sequence[int]) -> bytes:
    """Token ids as little-endian int32."""
    numbers = array("i", token_ids)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()
