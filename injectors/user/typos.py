"""Keyboard typos in a user's message."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator

from injectors.conversation import Site
from injectors.entities import MEANING_WORDS, Span
from injectors.operator import Draw, Recovery, Result, UserTarget, operator
from injectors.streams import Stream
from injectors.user.keyboards import NEIGHBOURS
from injectors.user.misspellings import COMMON

TRIALS = 12
"""A message gets at most so many typos, each with probability severity / 2: 6 x severity on average."""

SHORTEST = 4
"""Shorter words are left alone: one letter makes too much of them, and many turn into other words."""

_WORD = re.compile(r"[^\W\d_]+")


@operator(
    "user.typos",
    site=Site.USER_TEXT,
    recovery=Recovery.NONE_NEEDED,
    aliases=("realistic_typos", "Typo"),
    source="RobustBench-TC, table 1 and appendix F (Observation); by rule here, by a model there",
)
class Typos:
    """Typing errors: a neighbouring key, swapped, dropped and doubled letters, common misspellings.

    Severity: the number of typos per message is binomial with mean 6 x severity (12 trials), whatever the
    message's length, as far as it has words to spoil: one typo a word at most. RobustBench-TC's 2 to 4 are
    severity 0.5. Never touched are protected entities, words under four letters and words of scripts without
    letter case, in which names can't be told from words.
    """

    def draw(self, target: UserTarget, rng: Stream, severity: float) -> Draw | None:
        # All of the draws come in a fixed order, so that more severity means more of the same typos.
        count = sum(rng.uniform() < severity / 2 for _ in range(TRIALS))
        words = list(_open_words(target))
        edits: list[tuple[int, str, str, str]] = []
        for start, word in rng.shuffled(words)[:count]:
            kind, typed = _mistyped(word, rng)
            if typed is not None:
                edits.append((start, word, typed, kind))
        if not edits:
            return None
        return {
            "edits": [dict(zip(("at", "was", "now", "kind"), edit, strict=True)) for edit in sorted(edits)]
        }

    def apply(self, target: UserTarget, draw: Draw) -> Result:
        pieces: list[str] = []
        end = 0
        for edit in draw["edits"]:
            pieces += (target.text[end : edit["at"]], edit["now"])
            end = edit["at"] + len(edit["was"])
        pieces.append(target.text[end:])
        listed = ", ".join(f"{edit['was']} as {edit['now']}" for edit in draw["edits"])
        return Result("".join(pieces), f"The user's message was given typos ({listed}).")


def _open_words(target: UserTarget) -> Iterator[tuple[int, str]]:
    """The words that may be spoilt, with their positions."""
    spans = iter(target.protected)
    span: Span | None = next(spans, None)
    for match in _WORD.finditer(target.text):
        start, end = match.span()
        while span is not None and span[1] <= start:
            span = next(spans, None)
        if span is not None and span[0] < end:
            continue
        word = match.group()
        if len(word) >= SHORTEST and _spoilable(word) and not _joined_to_marks(target.text, start, end):
            yield start, word


def _spoilable(word: str) -> bool:
    cased = all(letter.lower() != letter.upper() for letter in word)
    return cased and word.lower() not in MEANING_WORDS


def _joined_to_marks(text: str, start: int, end: int) -> bool:
    """Whether a combining mark, an apostrophe or a connector makes the word a part of something longer."""
    around = text[max(0, start - 1) : start] + text[end : end + 1]
    return any(
        unicodedata.category(letter) in ("Mn", "Mc", "Me", "Pc", "Cf") or letter in "'’@#&"
        for letter in around
    )


def _mistyped(word: str, rng: Stream) -> tuple[str, str | None]:
    """A kind of typo and the word with it; None where no kind gives a word that is both other and
    harmless."""
    for kind in rng.shuffled(list(_KINDS)):
        typed = _KINDS[kind](word, rng)
        if typed is not None and typed != word and typed.lower() not in MEANING_WORDS:
            return kind, typed
    return "none", None


def _adjacent(word: str, rng: Stream) -> str | None:
    at = rng.integer(1, len(word) - 1)
    near = NEIGHBOURS.get(word[at].lower())
    if near is None:
        return None
    letter = rng.choice(near)
    return word[:at] + (letter.upper() if word[at].isupper() else letter) + word[at + 1 :]


def _swap(word: str, rng: Stream) -> str | None:
    at = rng.integer(1, len(word) - 2)
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def _drop(word: str, rng: Stream) -> str | None:
    at = rng.integer(1, len(word) - 1)
    return word[:at] + word[at + 1 :]


def _double(word: str, rng: Stream) -> str | None:
    at = rng.integer(1, len(word) - 1)
    return word[: at + 1] + word[at:]


def _misspell(word: str, rng: Stream) -> str | None:
    spelt = COMMON.get(word.lower())
    return spelt.capitalize() if spelt and word[0].isupper() else spelt


_KINDS: dict[str, Callable[[str, Stream], str | None]] = {
    "adjacent key": _adjacent,
    "swapped": _swap,
    "dropped": _drop,
    "doubled": _double,
    "misspelt": _misspell,
}
