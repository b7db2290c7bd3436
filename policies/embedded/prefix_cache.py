"""The prefix cache: keys and values of token blocks, found again by the hash of everything up to their end.

A session's next turn, and every session that shares the system prompt, finds its prefix here and computes
only what
is new. The hash of the first block starts from the policy's version, so versions never meet.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import OrderedDict
from collections.abc import Sequence

import torch

from crosswind.policies.embedded.forward import Rows
from crosswind.policies.tiny.model import Shape

BLOCK = 8
"""Tokens per block. Small: a turn brings few new tokens, and up to BLOCK - 1 known ones are computed again.
"""


def block_keys(version: str, ids: Sequence[int]) -> list[bytes]:
    """One key for each full block of the ids; it covers the version and every token up to the block's end."""
    keys = []
    key = hashlib.blake2b(version.encode(), digest_size=16).digest()
    raw = array("i", ids).tobytes()
    size = BLOCK * 4
    for start in range(0, len(raw) - size + 1, size):
        key = hashlib.blake2b(raw[start : start + size], key=key, digest_size=16).digest()
        keys.append(key)
    return keys


class PrefixCache:
    """A fixed pool of blocks; the least recently used one gives way."""

    def __init__(self, shape: Shape, capacity: int) -> None:
        """`capacity` is in tokens. One context always fits: no row's own blocks push one another out."""
        count = -(-max(capacity, shape.context) // BLOCK)
        size = (count, shape.layers, shape.kv_heads, BLOCK, shape.head)
        self._keys = torch.zeros(size)
        self._values = torch.zeros(size)
        self._index: OrderedDict[bytes, int] = OrderedDict()
        self._free = list(range(count))

    def clear(self) -> None:
        """Forget everything: the weights have changed."""
        self._free.extend(self._index.values())
        self._index.clear()

    def count_known(self, keys: Sequence[bytes]) -> int:
        """How many of the leading blocks are here."""
        for count, key in enumerate(keys):
            if key not in self._index:
                return count
        return len(keys)

    def load(self, keys: Sequence[bytes], rows: Rows, row: int) -> None:
        """Copy blocks that are here to the beginning of a row."""
        if not keys:
            return
        for key in keys:
            self._index.move_to_end(key)
        chosen = torch.tensor([self._index[key] for key in keys])
        for pool, target in ((self._keys, rows.keys), (self._values, rows.values)):
            blocks = pool[chosen].permute(1, 2, 0, 3, 4)
            target[:, row, :, : len(keys) * BLOCK] = blocks.flatten(2, 3)

    def store(self, keys: Sequence[bytes], rows: Rows, row: int) -> None:
        """Keep a row's leading blocks; those that are here already only count as used."""
        fresh = []
        for position, key in enumerate(keys):
            if key in self._index:
                self._index.move_to_end(key)
            else:
                self._index[key] = self._free.pop() if self._free else self._index.popitem(last=False)[1]
                fresh.append((position, self._index[key]))
        if not fresh:
            return
        chosen = torch.tensor([block for _, block in fresh])
        places = torch.tensor([position for position, _ in fresh])
        for pool, source in ((self._keys, rows.keys), (self._values, rows.values)):
            leading = source[:, row, :, : len(keys) * BLOCK].unflatten(2, (len(keys), BLOCK))
            pool[chosen] = leading[:, :, places].permute(2, 0, 1, 3, 4)
