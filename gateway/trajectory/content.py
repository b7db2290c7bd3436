"""Content in chains of segments: what turns have in common is kept once.

A body is a *frame* around a *chain*. The chain holds the messages, one segment each (with the bytes that
separate it from the one before), and turn k+1's chain extends turn k's. The frame holds everything else, in
pieces. Joined in order they are the exact bytes of the body. Prompt token ids form a chain too.
"""

from __future__ import annotations

import base64
import sys
from array import array
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any

KEY_BYTES = 16
Frame = tuple[bytes | None, ...]
"""A view's pieces around its chain, with None in the chain's place."""


_new_hasher = blake2b(digest_size=KEY_BYTES).copy
"""A copy takes half the time of a new one."""
_UNYIELDING = 2047
"""hashlib lets another thread run while it takes in more bytes than these."""
_LONG = 1 << 18


def content_key(body: bytes) -> bytes:
    """The 128-bit key of these bytes."""
    hasher = _new_hasher()
    if not _UNYIELDING < len(body) < _LONG:
        hasher.update(body)
        return hasher.digest()
    # To get the interpreter back from the thread that writes can take 5 ms: in small bites it is kept.
    view = memoryview(body)
    for start in range(0, len(body), _UNYIELDING):
        hasher.update(view[start : start + _UNYIELDING])
    return hasher.digest()


class Chain:
    """An immutable linked list of segments, newest last; a node's key covers everything before it.

    Chains are equal where their keys are.
    """

    __slots__ = ("_said", "_says", "block", "body", "depth", "key", "means", "parent")

    def __init__(
        self,
        parent: Chain | None,
        body: bytes,
        *,
        block: bytes | None = None,
        said: tuple[str, ...] | None = None,
    ) -> None:
        """`said`: what the segment says, however a client spells it; None where that isn't known."""
        self.parent = parent
        self.body = body
        self.block = block = content_key(body) if block is None else block
        before, self.depth, means = b"", 1, 0
        if parent is not None:
            before, self.depth, means = parent.key, parent.depth + 1, parent.means
        hasher = _new_hasher()
        hasher.update(before + block)
        self.key: bytes = hasher.digest()
        self._said = said
        self._says: bytes | None = None
        if said is None:
            means, self._says = 0, b""
        elif any(said):
            means = hash((means, said))
        self.means: int = means
        """What is said up to here, hashed for this process; 0 where that isn't known."""

    def __eq__(self, other: object) -> bool:
        return self.key == other.key if isinstance(other, Chain) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"Chain({self.key.hex()}, depth {self.depth})"

    @property
    def says(self) -> bytes:
        """A digest of what is said up to here; empty where that isn't known. `means` costs less."""
        says, unknown, node = b"", list[Chain](), self
        while node._says is None:
            unknown.append(node)
            if node.parent is None:
                break
            node = node.parent
        else:
            says = node._says
        for node in reversed(unknown):
            text = "\x1f".join(node._said or ())
            if text.strip("\x1f"):
                says = content_key(says + text.encode("utf-8", "surrogatepass"))
            node._says = says
        return says

    def nodes(self) -> Iterator[Chain]:
        """The nodes from the newest to the oldest."""
        node: Chain | None = self
        while node is not None:
            yield node
            node = node.parent

    def bytes(self) -> bytes:
        """All segments joined, oldest first."""
        return b"".join(reversed([node.body for node in self.nodes()]))


class View:
    """One of a turn's four views of a body: the frame's pieces, with None where the chain stands, if any."""

    __slots__ = ("chain", "frame")

    def __init__(self, frame: Frame, chain: Chain | None = None) -> None:
        if (chain is None) != (None not in frame):
            raise ValueError(
                f"a view needs a None in its frame exactly where it has a chain, not {frame!r:.80}"
            )
        self.frame = frame
        self.chain = chain

    @classmethod
    def plain(cls, body: bytes) -> View:
        """A body that has no chain, such as a response."""
        return cls((body,))

    def __eq__(self, other: object) -> bool:
        return (
            (self.frame, self.chain) == (other.frame, other.chain)
            if isinstance(other, View)
            else NotImplemented
        )

    def __hash__(self) -> int:
        return hash((self.frame, self.chain))

    def __repr__(self) -> str:
        return f"View({self.frame!r:.80}, {self.chain!r})"

    def bytes(self) -> bytes:
        """The exact bytes of the body."""
        inner = self.chain.bytes() if self.chain else b""
        return b"".join(inner if piece is None else piece for piece in self.frame)

    def as_json(self) -> str | dict[str, str]:
        """The body's text, or {"base64": ...} where it is no UTF-8."""
        body = self.bytes()
        try:
            return body.decode()
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(body).decode()}


def pack(code: str, values: Sequence[float]) -> bytes:
    """Numbers as a little-endian array, code `i` for int32, `d` for float64. Raises OverflowError."""
    numbers = array(code, values)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def unpack(code: str, body: bytes | None) -> tuple[Any, ...]:
    numbers = array(code, body or b"")
    if sys.byteorder == "big":
        numbers.byteswap()
    return tuple(numbers)
