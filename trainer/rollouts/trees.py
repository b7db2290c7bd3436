"""Prefix trees of token sequences: what several sequences have in common is laid out, and computed, once.

A tree is a row of tokens in depth-first order. A token sees the tokens of its own path only: token j is on
the path to token i where j ≤ i < end(j), the place after j's last descendant. A tree without branches is a
plain sequence, which needs no mask but the causal one; equal sequences, and prefixes of others, are such.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]

LARGEST = 8192
"""Tokens of a row that has a mask: it has as many squared elements."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """When sequences share a tree. `branches`: whether trees may have any: the model takes their mask."""

    branches: bool
    width: int = 0
    """The model's hidden size. A layer's matrices cost about 24 width² operations a token, its attention
    4 width a pair of tokens: a tree pays where it saves more of the first than it adds of the second.
    """

    def pays(self, tree: int, sequence: int, common: int) -> bool:
        """Whether a sequence should join a tree of so many tokens, of which it has `common` in common."""
        together = tree + sequence - common
        pairs = together**2 - tree**2 - sequence**2
        return together <= LARGEST and pairs <= 6 * self.width * common


ROWS = Sharing(branches=False)


@dataclass(slots=True)
class Tree:
    """A tree under construction; sequences join at the path of the one that joined before."""

    ids: list[Ids] = field(default_factory=list)
    positions: list[Ids] = field(default_factory=list)
    closed: list[tuple[Ids, int]] = field(default_factory=list)
    """Nodes whose descendants are complete, with their end."""
    size: int = 0
    last: Ids = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """The sequence that joined last."""
    path: Ids = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Its places in the row."""

    @property
    def branches(self) -> bool:
        return bool(self.closed)

    def accepts(self, sequence: Ids, sharing: Sharing) -> int | None:
        """How many tokens the sequence would share; None where it had better be a tree of its own."""
        if not self.size:
            return 0
        common = count_common(self.last, sequence)
        if common == len(sequence) or (common == len(self.last) and not self.branches):
            return common  # without a further branch
        return common if sharing.branches and sharing.pays(self.size, len(sequence), common) else None

    def join(self, sequence: Ids, common: int) -> Ids:
        """Add a sequence that has `common` tokens in common with the last one; gives its places here."""
        if common < len(sequence):
            if common < len(self.last):
                self.closed.append((self.path[common:], self.size))
            new = np.arange(common, len(sequence))
            self.path = np.concatenate([self.path[:common], self.size + new - common])
            self.ids.append(sequence[common:])
            self.positions.append(new)
            self.size += len(new)
            self.last = sequence
        return self.path[: len(sequence)]

    def copy(self) -> Tree:
        return replace(self, ids=list(self.ids), positions=list(self.positions), closed=list(self.closed))

    def ends(self) -> Ids:
        """For each token the place after its last descendant."""
        ends = np.full(self.size, self.size, dtype=np.int64)
        for nodes, end in self.closed:
            ends[nodes] = end
        return ends


def count_common(one: Ids, other: Ids) -> int:
    """How many tokens two sequences begin with alike."""
    length = min(len(one), len(other))
    different = one[:length] != other[:length]
    first = int(different.argmax()) if length else 0
    return first if length and different[first] else length


@dataclass(slots=True)
class Forest:
    """The trees of rollouts that must be computed together, since they share trees."""

    trees: list[Tree] = field(default_factory=list)

    def place(
        self, sequences: Sequence[Ids], sharing: Sharing
    ) -> tuple[Forest, list[tuple[int, Ids]]] | None:
        """This forest with a further rollout's sequences, and where they are: tree and places in its row.
        None where none of them shares anything with the trees that there are.
        """
        if self.branches and max(map(len, sequences)) > LARGEST:
            return None
        if self.trees and self.longest > LARGEST:
            sharing = ROWS  # a branch would bring the long row a mask
        trees = list(self.trees)
        copied: set[int] = set()
        places, shared = [], not trees
        for sequence in sequences:
            offers = [(tree.accepts(sequence, sharing), number) for number, tree in enumerate(trees)]
            fitting = [(common, number) for common, number in offers if common]
            common, number = max(fitting, default=(0, len(trees)), key=lambda offer: offer[0])
            shared = shared or number < len(self.trees)
            if number == len(trees):
                trees.append(Tree())
            elif number not in copied:
                trees[number] = trees[number].copy()
            copied.add(number)
            places.append((number, trees[number].join(sequence, common)))
        return (Forest(trees), places) if shared else None

    @property
    def branches(self) -> bool:
        """Whether its rows need a mask."""
        return any(tree.branches for tree in self.trees)

    @property
    def longest(self) -> int:
        return max((tree.size for tree in self.trees), default=0)

    @property
    def places(self) -> int:
        """Tokens of its rows, padding included."""
        return len(self.trees) * self.longest
