"""Keyboard typos in a user's message."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

from pydantic import Field

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.words.spelling import KEYBOARDS, MISSPELLINGS
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, UserTarget
from crosswind.injectors.text.edits import apply_edits, find_unprotected, make_edit
from crosswind.injectors.text.entities import LONGEST_TOKEN, MEANING_WORDS
from crosswind.injectors.text.languages import UNABLE

TRIALS = 12
"""A message gets at most this many typos, each with probability severity / 2: 6 x severity on average."""

SHORTEST = 4
"""Shorter words are left alone: one wrong letter changes too much of them, and many turn into other words."""

CASELESS = "in a script without letter case names can't be told from words, and names stay"

_WORD = re.compile(rf"[^\W\d_]{{{SHORTEST},}}")

Count = Annotated[int, Field(ge=1, le=TRIALS)]


@operator(
    "user.typos",
    site=Site.USER_TEXT,
    recovery=Recovery.NONE_NEEDED,
    aliases=("realistic_typos", "Typo"),
    source="RobustBench-TC, table 1 and appendix F (Observation); by rule here, by a model there",
    effect=Effect.REWORDS,
)
@dataclass(frozen=True)
class Typos:
    """Typing errors: a neighbouring key, swapped, dropped and doubled letters, common misspellings.

    Severity: the number of typos per message is binomial with mean 6 x severity (12 trials), whatever the
    message's length, with at most one typo per word. With `between` it is uniform between these two
    (RobustBench-TC: 2 and 4), and severity is the share of messages. Protected entities, words under four
    letters and words of scripts without letter case, in which names can't be told from words, are never
    touched.
    """

    between: tuple[Count, Count] | None = None
    """The smallest and the largest number of typos in a message."""

    def __post_init__(self) -> None:
        if self.between is not None and self.between[0] > self.between[1]:
            raise ValueError(f"{list(self.between)} ends below its beginning: swap the two")

    def draw(self, target: UserTarget, rng: SeededRandom, severity: float) -> Draw | None:
        # Everything is drawn in a fixed order, so that more severity means more of the same typos.
        count = self._draw_count(rng, severity)
        if count == 0:
            return None
        words = _find_words(target)
        typos = [(start, word, *_mistype(word, rng)) for start, word in rng.shuffled(words)[:count]]
        edits = [
            make_edit(at, word, typed) | {"kind": kind} for at, word, kind, typed in sorted(typos) if typed
        ]
        if not edits:
            caseless = not words and _is_caseless(target.text)
            return {"edits": [], UNABLE: CASELESS} if caseless else None
        return {"edits": edits}

    def _draw_count(self, rng: SeededRandom, severity: float) -> int:
        if self.between is None:
            return rng.successes(TRIALS, severity / 2)
        hit, (least, most) = rng.chance(severity), self.between
        return rng.integer(least, most) if hit else 0

    def apply(self, target: UserTarget, draw: Draw) -> Result:
        listed = ", ".join(f"{one['was']} as {one['now']}" for one in draw["edits"])
        return Result(
            apply_edits(target.text, draw["edits"]), f"The user's message was given typos ({listed})."
        )


def _find_words(target: UserTarget) -> list[tuple[int, str]]:
    text = target.text
    found: list[tuple[int, str]] = []
    for match in find_unprotected(_WORD, text, target.protected):
        word, (start, end) = match[0], match.span()
        spoilable = _is_known_spoilable if end - start <= LONGEST_TOKEN else _is_spoilable
        around = text[start - 1 : start] + text[end : end + 1]
        if spoilable(word) and (around == "  " or not _is_bound(around)):
            found.append((start, word))
    return found


def _is_caseless(text: str) -> bool:
    """Whether most of the text's letters have no upper and lower case."""
    letters = [letter for letter in text if letter.isalpha()]
    return 2 * sum(letter.lower() == letter.upper() for letter in letters) > len(letters) >= SHORTEST


def _is_spoilable(word: str) -> bool:
    cased = all(letter.lower() != letter.upper() for letter in word)
    return cased and word.lower() not in MEANING_WORDS


_is_known_spoilable = lru_cache(8192)(_is_spoilable)


@lru_cache(4096)
def _is_bound(around: str) -> bool:
    """Whether a combining mark, an apostrophe or a connector beside a word makes it a part of something
    longer. `around`: the characters before and after it.
    """
    return any(
        unicodedata.category(letter) in ("Mn", "Mc", "Me", "Pc", "Cf") or letter in "'’@#&"
        for letter in around
    )


def _mistype(word: str, rng: SeededRandom) -> tuple[str, str | None]:
    """Draw a kind of typo and the word with it; None where no kind gives a word that is different and
    harmless."""
    for kind in rng.shuffled(list(_KINDS)):
        typed = _KINDS[kind](word, rng)
        if typed is not None and typed != word and typed.lower() not in MEANING_WORDS:
            return kind, typed
    return "none", None


def _adjacent(word: str, rng: SeededRandom) -> str | None:
    at = rng.integer(1, len(word) - 1)
    near = _NEIGHBOURS.get(word[at].lower())
    if near is None:
        return None
    letter = rng.choice(near)
    return word[:at] + (letter.upper() if word[at].isupper() else letter) + word[at + 1 :]


def _swap(word: str, rng: SeededRandom) -> str | None:
    at = rng.integer(1, len(word) - 2)
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def _drop(word: str, rng: SeededRandom) -> str | None:
    at = rng.integer(1, len(word) - 1)
    return word[:at] + word[at + 1 :]


def _double(word: str, rng: SeededRandom) -> str | None:
    at = rng.integer(1, len(word) - 1)
    return word[: at + 1] + word[at:]


def _misspell(word: str, rng: SeededRandom) -> str | None:
    spelt = MISSPELLINGS.get(word.lower())
    return spelt.capitalize() if spelt and word[0].isupper() else spelt


_KINDS: dict[str, Callable[[str, SeededRandom], str | None]] = {
    "adjacent key": _adjacent,
    "swapped": _swap,
    "dropped": _drop,
    "doubled": _double,
    "misspelt": _misspell,
}


def _find_neighbours() -> dict[str, str]:
    found: dict[str, str] = {}
    for rows in KEYBOARDS:
        for number, row in enumerate(rows):
            for at, key in enumerate(row):
                near = row[max(0, at - 1) : at] + row[at + 1 : at + 2]
                if number > 0:
                    near += rows[number - 1][at : at + 2]
                if number + 1 < len(rows):
                    near += rows[number + 1][max(0, at - 1) : at + 1]
                found[key] = near
    return found


_NEIGHBOURS = _find_neighbours()
"""Lower-case letter to the letters on the keys around it."""
