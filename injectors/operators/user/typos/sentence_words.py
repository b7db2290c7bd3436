"""The words of sentences, and which of them are plain: words that put requests, and of no tool or value."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache, partial
from itertools import compress
from operator import attrgetter
from typing import NamedTuple

import msgspec

from crosswind.injectors.operators.user.requests.verbs import AMBIGUOUS, BEHIND_VERB, SURE
from crosswind.injectors.operators.user.typos.named_words import NamedWords
from crosswind.injectors.operators.user.typos.word_lists import read_words
from crosswind.injectors.text.entities import MEANING_WORDS, Span
from crosswind.injectors.text.languages import Language
from crosswind.injectors.text.tokens import TokenProperty, read_tokens

LISTED = frozenset({Language.EN, Language.DE, Language.ES, Language.FR, Language.AR})
"""Languages with a list of words that put requests."""

SPEAKERS = frozenset(
    {"i'd", "i'll", "i'm", "i've", "please", "need", "want", "could", "would", "can", "thanks"}
)
LEAST_CLAUSE = 3
"""Words of the shortest run between two other words that is taken for a clause of the user's own."""
LATEST_VERB = 5
"""The latest place of a request's verb in its sentence, behind plain words only."""
_EDGES = '.,;:!?()"“”«»…،؛؟¿¡'
_COMMANDS = frozenset().union(*(read_words(f"commands.{one}") for one in ("de", "es", "fr", "ar")))
VERBS = SURE | AMBIGUOUS | _COMMANDS


class Kept(NamedTuple):
    """What is no plain word."""

    taken: bytearray
    """1 for each character of the text that is protected, or a value's."""
    tools: NamedWords


class _Judged(msgspec.Struct, frozen=True, gc=False):
    """A token without the punctuation around it, wherever it stands and whatever tools there are."""

    before: int
    length: int
    word: str
    plain: bool
    """Whether it is a word that puts requests."""
    decimal: bool
    protected: bool


@lru_cache(8)
def _list_plain(language: Language) -> frozenset[str]:
    return read_words(f"plain.{language}") | read_words(f"connectives.{language}")


def _judge(token: str, language: Language) -> _Judged:
    bare = token.strip(_EDGES)
    word = bare.lower().replace("’", "'")
    protected = word in MEANING_WORDS or (len(bare) > 1 and bare.isupper())
    plain = not protected and _list_plain(language).issuperset(word.split("-"))
    return _Judged(token.index(bare), len(bare), word, plain, word.isdecimal(), protected)


_JUDGED = {language: TokenProperty(partial(_judge, language=language)) for language in LISTED}


@lru_cache(64)
def _list_told(tools: NamedWords, language: Language) -> frozenset[str]:
    """The words of the parameters' descriptions that may be values."""
    return tools.described - SPEAKERS - read_words(f"connectives.{language}")


@lru_cache(64)
def _list_spoken_of(tools: NamedWords, language: Language) -> frozenset[str]:
    """All words of the tools that are no plain ones."""
    return tools.names | _list_told(tools, language)


class Run(msgspec.Struct, frozen=True, gc=False):
    """Plain words in a row, by the number of the first and of the first behind them."""

    start: int
    stop: int
    left: bool | None
    """Whether the word before them is named; None: there is none."""
    right: bool | None
    """The same of the word behind them."""


class SentenceWords:
    """The words of some sentences of a text, by their numbers. Most are plain, and asked no more: what else
    is to know is worked out when it is asked for."""

    __slots__ = ("_kept", "_language", "_plain", "_starts", "_words", "ranges")

    def __init__(self, text: str, sentences: Sequence[Span], language: Language, kept: Kept) -> None:
        self._kept, self._language = kept, language
        self._starts, self._words = starts, words = _read_words(text, sentences, language)
        self.ranges = [
            range(bisect_left(starts, start), bisect_left(starts, end)) for start, end in sentences
        ]
        """The words of each sentence."""
        find, others = kept.taken.find, _list_spoken_of(kept.tools, language)
        self._plain = bytearray(
            [
                one.plain
                and one.word not in others
                and find(1, at := begin + one.before, at + one.length) < 0
                for begin, one in zip(starts, words, strict=True)
            ]
        )
        """1 for each plain word."""

    def word(self, at: int) -> str:
        """The word without punctuation, in lower case."""
        return self._words[at].word

    def span(self, at: int) -> Span:
        """Where in the text it stands."""
        one = self._words[at]
        begin = self._starts[at] + one.before
        return begin, begin + one.length

    def is_named(self, at: int) -> bool:
        """Whether it is a word of a tool's or parameter's name, or a number: no value goes on across it."""
        one = self._words[at]
        return one.decimal or one.word in self._kept.tools.names

    def is_kept(self, at: int) -> bool:
        """Whether it is protected, or a value."""
        one = self._words[at]
        told = one.protected or one.word in _list_told(self._kept.tools, self._language)
        return told or self._kept.taken.find(1, *self.span(at)) >= 0

    def asks(self) -> bool:
        """Whether one of the words is of a request: of what is asked for, or of the asking."""
        places = [at for sentence in self.ranges for at in sentence]
        asking = (self.word(at) in SPEAKERS or self.word(at) in VERBS for at in places)
        return any(asking) or any(map(self.is_named, places))

    def mark_verbs(self, sentence: range) -> None:
        """Make those verbs of a request plain that no tool is named after."""
        if self._kept.tools.takes_action:
            return
        verbs = SURE if self._language is Language.EN else read_words(f"commands.{self._language}")
        for at in sentence[:LATEST_VERB]:
            if self._plain[at]:
                continue
            word, following = self.word(at), self.word(at + 1) if at + 1 < sentence.stop else ""
            verb = word in verbs or (word in AMBIGUOUS and following in BEHIND_VERB)
            if not verb or self.is_named(at) or self.is_kept(at):
                return
            self._plain[at] = 1

    def find_frames(self, sentence: range) -> list[Run]:
        """The runs of plain words that put the request, and stand in no value."""
        frames, begin, end = list[Run](), sentence.start, sentence.stop
        takes_text = self._kept.tools.takes_text
        for match in _RUN.finditer(self._plain, begin, end):
            start, stop = match.span()
            left = self.is_named(start - 1) if start > begin else None
            right = self.is_named(stop) if stop < end else None
            beside = left and right is not False if takes_text else left or right is not False
            if left is None or beside or self._is_clause(start, stop):
                frames.append(Run(start, stop, left, right))
        return frames

    def _is_clause(self, start: int, stop: int) -> bool:
        """Whether these plain words are a clause of the user's own."""
        if stop - start < LEAST_CLAUSE:
            return False
        return not SPEAKERS.isdisjoint(map(self.word, range(start, stop)))


def _read_words(text: str, sentences: Sequence[Span], language: Language) -> tuple[list[int], list[_Judged]]:
    """Where the tokens of the sentences begin, and what they are; of others there may be some, too."""
    judged = _JUDGED[language]
    if text.isascii():
        # White space ends each sentence here, so the tokens of the whole text are those of all of them.
        tokens = read_tokens(text)
        starts, words = tokens.starts, judged.of(tokens)
    else:
        starts, words = [], []
        for start, end in sentences:
            tokens = read_tokens(text[start:end])
            starts += [start + at for at in tokens.starts]
            words += judged.of(tokens)
    if 0 in map(_LENGTH, words):  # Dots by themselves are no word.
        worded = list(map(_LENGTH, words))
        starts, words = [*compress(starts, worded)], [*compress(words, worded)]
    return starts, words


_LENGTH = attrgetter("length")
_RUN = re.compile(b"\1+")
