"""The entries from which a conversation draws one part, and which of them fit, as bits.

A set of entries is an integer: bit i is that of the i-th entry. What decides whether an entry fits is indexed
once, so that no entry is asked by itself about a message.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from itertools import compress
from typing import Any, TypeVar

from crosswind.injectors.packs.model import Entry, Named
from crosswind.injectors.packs.stems import StemIndex

K = TypeVar("K", bound=Hashable)

_VALUES = bytes(digit & 1 for digit in range(256))
"""What the digits 0 and 1 say, by their ASCII codes."""


class Shelf:
    """Entries, those of the domain's own pack before the general ones."""

    __slots__ = ("_groups", "_indices", "_named", "about", "bits", "own", "served_by", "unless")

    def __init__(self, named: Sequence[Named], own: int) -> None:
        """`own` is how many are of the domain's own pack."""
        self._named = tuple(named)
        self.own = (1 << own) - 1
        self.bits = {name: 1 << place for place, (name, _) in enumerate(self._named)}
        """The bit of each, by its name."""
        self.about = StemIndex(entry.about for _, entry in self._named)
        self.served_by = StemIndex(entry.served_by for _, entry in self._named)
        self.unless = StemIndex(entry.unless for _, entry in self._named)
        self._groups: dict[Callable[[Entry], Any], dict[Any, int]] = {}
        self._indices: dict[Callable[[Entry], Iterable[str]], dict[str, int]] = {}

    def list(self, chosen: int) -> tuple[Named, ...]:
        """The entries that are chosen, in order."""
        return tuple(compress(self._named, f"{chosen:b}"[::-1].encode().translate(_VALUES)))

    def group(self, of: Callable[[Entry], K]) -> Mapping[K, int]:
        """The entries by something of each, for a function that is asked again and again."""
        if of not in self._groups:
            groups: dict[K, int] = {}
            for place, (_, entry) in enumerate(self._named):
                groups[of(entry)] = groups.get(of(entry), 0) | 1 << place
            self._groups[of] = groups
        return self._groups[of]

    def select(self, holds: Callable[[Entry], bool]) -> int:
        """Those for which it holds, for a function that is asked again and again."""
        return self.group(holds).get(True, 0)

    def find(self, words: Callable[[Entry], Iterable[str]], wanted: Collection[str]) -> int:
        """Those with one of the wanted words, for a function that is asked again and again."""
        if words not in self._indices:
            index: dict[str, int] = {}
            for place, (_, entry) in enumerate(self._named):
                for word in words(entry):
                    index[word] = index.get(word, 0) | 1 << place
            self._indices[words] = index
        found, index = 0, self._indices[words]
        for word in wanted:
            found |= index.get(word, 0)
        return found
