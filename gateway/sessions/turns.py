"""The turn index of a session: the index, attempt, parent and branch of the next turn, and chains of its
tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from crosswind.gateway.clock import steady_us
from crosswind.gateway.trajectory.content import Chain, pack
from crosswind.gateway.trajectory.record import TurnHead
from crosswind.injectors.identity import digest

MAIN_BRANCH = ""
_REMEMBERED = 64
_APART = 10**15
"""Indexes from here on are times in microseconds; no count of turns gets this high."""


class TurnPosition(msgspec.Struct, frozen=True, gc=False):
    """The position of a turn in its session."""

    index: int
    attempt: int = 0
    parent: int | None = None
    branch: str = MAIN_BRANCH


class TurnRequest(msgspec.Struct):
    """What decides a request's position: its messages and the digest of its body."""

    chain: Chain | None
    digest: bytes
    retry: bool = False
    """Its client marks it as a retry."""
    after: str | None = None
    """The response that it names as its predecessor."""
    idempotency: str | None = None
    """The digest of its idempotency key."""


class _Head(msgspec.Struct, gc=False):
    place: TurnPosition
    continued: bool = False


class TurnIndex:
    """Positions of turns. A turn's parent is the one whose messages its own begin with; a second child starts
    a branch.
    """

    def __init__(self, turns: Iterable[TurnHead] = ()) -> None:
        self.claimed = 0
        """The last lease included here, if workers share the session."""
        self._next = 0
        self._heads: dict[bytes, _Head] = {}
        self._said: dict[int | bytes, _Head] = {}
        """By content (`Chain.means`, or `says`), for a client that spells its history differently than
        before.
        """
        self._shared = False
        """Some turns are other processes', and known by what they say."""
        self._by_index: dict[int, _Head] = {}
        self._by_response: dict[str, _Head] = {}
        self.responses: list[str] = []
        """The ids of the session's responses, in the order in which they became known."""
        self._requests: dict[bytes, TurnPosition] = {}
        self._keys: dict[str, bytes] = {}
        self._destroyed: set[tuple[int, int]] = set()
        self._met: dict[tuple[int, int], int] = {}
        self._met_in_all = 0
        if turns:
            self.learn(turns)

    def is_repeat(self, key: str | None, digest: bytes) -> bool:
        """Whether this idempotency key came with this body before."""
        return key is not None and self._keys.get(key) == digest

    @property
    def count(self) -> int:
        """The number of turns."""
        return len(self._by_index)

    @property
    def spent(self) -> int:
        """The number of answers that noise destroyed."""
        return len(self._destroyed)

    def mark_destroyed(self, place: TurnPosition) -> None:
        self._destroyed.add((place.index, place.attempt))

    @property
    def met(self) -> int:
        """The number of faults injected into the session's exchanges."""
        return self._met_in_all

    def add_injections(self, place: TurnPosition, count: int) -> None:
        """Record the number of faults injected into this attempt's exchange."""
        key = place.index, place.attempt
        if count or key in self._met:
            self._met_in_all += count - self._met.get(key, 0)
            self._met[key] = count

    def learn(self, turns: Iterable[TurnHead]) -> None:
        """Add stored turns; known ones change nothing."""
        for turn in turns:
            place = TurnPosition(turn.index, turn.attempt, turn.parent, turn.branch)
            self.add(place, turn.received, turn.request, None, turn.idempotency)
            if turn.destroyed:
                self.mark_destroyed(place)
            self.add_injections(place, turn.met)
            if turn.response_id is not None:
                self.add_response(turn.index, turn.response_id)

    def add_response(self, index: int, response_id: str) -> None:
        """Record a turn's response: later requests may name it as their predecessor."""
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
        """Add a turn that got its position elsewhere. `key` and `says` identify its chain by bytes and by
        content, `digest` its body.
        """
        if digest is not None:
            self._remember(digest, place, idempotency)
        if place.index not in self._by_index:
            self._insert(place, key)
        if says:
            self._shared = True
            self._said[says] = self._by_index[place.index]

    def _insert(self, place: TurnPosition, key: bytes | None) -> None:
        if place.index < _APART:
            self._next = max(self._next, place.index + 1)
        if place.parent is not None and (parent := self._by_index.get(place.parent)):
            parent.continued = True
        self._by_index[place.index] = head = _Head(place)
        if key is not None:
            self._heads[key] = head

    def place(self, request: TurnRequest, *, apart: bool = False) -> TurnPosition:
        """The position of a request. A marked retry of an equal body is one more attempt at its turn.
        `apart`: the free indexes are unknown, so take one that no other turn can have.
        """
        earlier = self._requests.get(request.digest)
        if earlier is not None and (request.retry or self.is_repeat(request.idempotency, request.digest)):
            place = TurnPosition(earlier.index, earlier.attempt + 1, earlier.parent, earlier.branch)
        else:
            place = self._new(request.chain, max(_APART, steady_us()) if apart else None, request.after)
        self._remember(request.digest, place, request.idempotency)
        return place

    def _remember(self, digest: bytes, place: TurnPosition, idempotency: str | None) -> None:
        if idempotency is not None:
            self._keys[idempotency] = digest
            if len(self._keys) > _REMEMBERED:
                del self._keys[next(iter(self._keys))]
        known = self._requests.get(digest)
        if known is not None and (known.index, known.attempt) >= (place.index, place.attempt):
            return
        self._requests[digest] = place
        if len(self._requests) > _REMEMBERED:
            del self._requests[next(iter(self._requests))]

    def _new(self, chain: Chain | None, index: int | None, after: str | None) -> TurnPosition:
        if index is None:
            index, self._next = self._next, self._next + 1
        place = (
            self._position_after(chain, index)
            if after is None
            else self._position_after_response(after, chain, index)
        )
        self._by_index[place.index] = head = _Head(place)
        if chain is not None and after is None:
            self._heads[chain.key] = head
            if chain.means:
                self._said[chain.means] = head
                if self._shared or self.claimed:
                    self._said[chain.says] = head
        return place

    def _position_after(self, chain: Chain | None, index: int) -> TurnPosition:
        if chain is None:
            return TurnPosition(index)
        same = self._find(chain) if self._heads else None
        if same is not None:
            return TurnPosition(index, 0, same.place.parent, f"{chain.key.hex()[:12]}.{index}")
        head = self._head_of(chain.parent)
        if head is None:
            return TurnPosition(index, 0, None, f"{chain.key.hex()[:12]}" if self._heads else MAIN_BRANCH)
        return self._continue(head, chain, index)

    def _position_after_response(self, after: str, chain: Chain | None, index: int) -> TurnPosition:
        """The position of a request that names its predecessor: its messages are incomplete."""
        head = self._by_response.get(after)
        if head is None:
            return TurnPosition(index, 0, None, digest(after)[:12] if self._by_index else MAIN_BRANCH)
        return self._continue(head, chain, index)

    def _continue(self, head: _Head, chain: Chain | None, index: int) -> TurnPosition:
        """The position of a continuation: the first one stays on the branch."""
        branch = head.place.branch
        if head.continued:
            branch = chain.key.hex()[:12] if chain is not None else f"{head.place.index}.{index}"
        head.continued = True
        return TurnPosition(index, 0, head.place.index, branch)

    def _head_of(self, node: Chain | None) -> _Head | None:
        """The nearest turn that these messages continue."""
        while node is not None and self._heads:
            if head := self._find(node):
                return head
            node = node.parent
        return None

    def _find(self, chain: Chain) -> _Head | None:
        """The turn of just these messages."""
        head = self._heads.get(chain.key)
        if head is None and self._shared and chain.means:
            head = self._said.get(chain.says)
        return head or self._said.get(chain.means)


class TokenChains:
    """Prompt token ids as chains: a prompt that begins with an earlier one stores only what it adds."""

    def __init__(self) -> None:
        self._prompts: list[tuple[bytes, Chain]] = []

    def chain(self, token_ids: Sequence[int]) -> Chain:
        """The chain of a prompt's ids. Raises OverflowError or TypeError if they aren't 32-bit integers."""
        prompt = pack("i", token_ids)
        known = [(start, node) for start, node in self._prompts if prompt.startswith(start)]
        start, parent = max(known, key=lambda one: len(one[0]), default=(b"", None))
        if parent is not None and start == prompt:
            return parent
        chain = Chain(parent, prompt[len(start) :])
        self._prompts = [*self._prompts[-7:], (prompt, chain)]
        return chain
