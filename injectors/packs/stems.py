"""Which of a pack's stems a text has: which of its entries speak of what is said there."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import msgspec

from crosswind.injectors.packs.domains import list_all_stems, list_text_stems, list_text_words
from crosswind.injectors.text.languages import UNSPACED, Language

JOINED = UNSPACED | {Language.AR}
"""Languages that write words together: a stem is found anywhere in their texts."""
REMEMBERED = 8_192
"""Characters of the longest text of which anything is remembered."""


class Said(msgspec.Struct, frozen=True, gc=False):
    """What of a text is held against stems."""

    stems: frozenset[str]
    """Those that its words may have."""
    text: str = ""
    """In a language that joins words, those that aren't plain ASCII."""
    pairs: frozenset[str] = frozenset()
    """The letters of that, single and in pairs: hardly a stem that isn't in a text begins with one of these,
    so that a long text is seldom searched."""


def read_said(text: str, language: Language) -> Said:
    """What a text says."""
    return _short_said(text, language) if len(text) <= REMEMBERED else _read_said(text, language)


def _read_said(text: str, language: Language) -> Said:
    if language in JOINED:
        return read_words(list_words(text, language), language)
    return Said(list_text_stems(text))


_short_said = lru_cache(64)(_read_said)


def list_words(text: str, language: Language) -> frozenset[str]:
    """The words of a text in lower case; of a language that joins words the text, too."""
    words = list_text_words(text)
    return words | {text.lower()} if language in JOINED else words


@lru_cache(64)
def read_words(words: frozenset[str], language: Language) -> Said:
    """What these words say."""
    if language not in JOINED:
        return Said(list_all_stems(words))
    text = "\n".join(word for word in words if not word.isascii())
    return Said(list_all_stems(words), text, frozenset(text).union(map(str.__add__, text, text[1:])))


class StemIndex:
    """The entries of a shelf by stems that they have, as bits: bit i is that of the i-th entry."""

    __slots__ = ("_bits", "_joined", "_pairs", "_stems", "without")

    def __init__(self, stems: Iterable[tuple[str, ...]]) -> None:
        self.without = 0
        """The entries that have no stem."""
        self._bits: dict[str, int] = {}
        self._joined: dict[str, dict[str, int]] = {}
        """Those not in plain ASCII by their first two letters."""
        for place, some in enumerate(stems):
            bit = 1 << place
            self.without |= 0 if some else bit
            for stem in some:
                lowered = stem.lower()
                self._bits[lowered] = self._bits.get(lowered, 0) | bit
                if not stem.isascii():
                    alike = self._joined.setdefault(stem[:2], {})
                    alike[stem] = alike.get(stem, 0) | bit
        self._stems, self._pairs = frozenset(self._bits), frozenset(self._joined)

    def find(self, said: Said) -> int:
        """The entries one of whose stems is said."""
        found = 0
        for stem in self._stems & said.stems:
            found |= self._bits[stem]
        for pair in self._pairs & said.pairs:
            for stem, bits in self._joined[pair].items():
                if stem in said.text:
                    found |= bits
        return found
