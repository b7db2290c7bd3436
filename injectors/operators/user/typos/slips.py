"""Slips within a word: what the fingers, the ear and a phone's keyboard make of it.

How often each kind comes about follows what studies of typing agree on. Pollock and Zamora (1983, 50,000
misspellings of 25 million words): 90–95 % of misspellings have a single error, omission is the commonest, and
doubling a letter is the chief cause of insertions. Yannakoudakis and Fawthrop (1983): few errors are in the
first letter; transposition, doubling and singling are common; vowels are mistaken more often. Kukich (1992):
13 % of the errors in messages typed at once ran two words together, 2 % split one. Gimenes, Roman and
Carvalho (2015) for Portuguese, Ramírez Bustamante and López Díaz (2006) for Spanish: signs over letters are
the commonest error where a language has them. No study gives all kinds together: the weights below are ours,
in that order.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

from crosswind.injectors.operators.user.typos.keyboards import find_keyboard
from crosswind.injectors.operators.user.typos.word_lists import read_variants
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.text.languages import Language

FIRST_LETTER = 0.01
"""How often a slip is in the first letter: a word stays guessable by it."""

Slip = Callable[[str, Language | None, SeededRandom], str | None]


def draw_slip(word: str, language: Language | None, rng: SeededRandom) -> tuple[str, str] | None:
    """Draw a kind of slip and the word with it; None where no kind gives another word."""
    kinds, weights = _SIGNED if _has_signs(word) else _UNSIGNED
    while kinds:
        kind = rng.weighted(kinds, weights)
        typed = _SLIPS[kind](word, language, rng)
        if typed is not None and typed != word:
            return kind, typed
        at = kinds.index(kind)
        kinds, weights = kinds[:at] + kinds[at + 1 :], weights[:at] + weights[at + 1 :]
    return None


def draw_key_slip(keys: str, rng: SeededRandom) -> str | None:
    """Keys in Latin letters as the fingers miss them."""
    kinds = ("omission", "neighbour", "transposition", "doubling", "two keys")
    return _SLIPS[rng.weighted(kinds, [_WEIGHTS[kind] for kind in kinds])](keys, None, rng)


def _place(word: str, last: int, rng: SeededRandom) -> int:
    """A place in the word up to `last`; rarely the first, but where there is no other."""
    first = rng.chance(FIRST_LETTER)
    at = rng.integer(1, max(1, last))
    return 0 if first or last < 1 else at


def _hit_neighbour(word: str, language: Language | None, rng: SeededRandom) -> str | None:
    at = _place(word, len(word) - 1, rng)
    letter = _draw_neighbour(word[at], language, rng)
    return word[:at] + letter + word[at + 1 :] if letter else None


def _draw_neighbour(letter: str, language: Language | None, rng: SeededRandom) -> str | None:
    near = find_keyboard(language, letter).neighbours.get(letter.lower())
    if near is None:
        return None
    struck = rng.weighted(*near)
    return struck.upper() if letter.isupper() else struck


def _omit(word: str, language: Language | None, rng: SeededRandom) -> str | None:
    at = _place(word, len(word) - 1, rng)
    # One of two equal letters, and a vowel inside the word, are left out more often.
    doubled = [one for one in range(1, len(word)) if word[one] == word[one - 1]]
    if doubled and rng.chance(0.6):
        at = doubled[0]
    lost = not word[1:2].isalpha() if at == 0 else not word[at - 1].isalpha()  # "I'm" keeps its letters.
    return word[:at] + word[at + 1 :] if len(word) > 2 and word[at].isalpha() and not lost else None


def _double(word: str, language: Language | None, rng: SeededRandom) -> str | None:
    at = _place(word, len(word) - 1, rng)
    if not word[at].isalpha() or word[at] in word[at - 1 : at] + word[at + 1 : at + 2]:
        return None
    return word[: at + 1] + word[at].lower() + word[at + 1 :]


def _hit_both(word: str, language: Language | None, rng: SeededRandom) -> str | None:
    """Two keys are hit at once: the neighbour comes before or behind the letter."""
    at = _place(word, len(word) - 1, rng)
    struck = _draw_neighbour(word[at].lower(), language, rng)
    before = rng.chance(0.4) and at > 0
    if struck is None:
        return None
    return word[:at] + struck + word[at:] if before else word[: at + 1] + struck + word[at + 1 :]


def _swap(word: str, language: Language | None, rng: SeededRandom) -> str | None:
    """Two letters in the other order; most often those of two hands."""
    places = [at for at in range(len(word) - 1) if word[at] != word[at + 1] and word[at : at + 2].isalpha()]
    if not places:
        return None
    at = rng.weighted(places, [_weigh_swap(word, at, language) for at in places])
    pair = word[at + 1] + word[at]
    if at == 0 and word[0].isupper():
        pair = pair.capitalize()
    return word[:at] + pair + word[at + 2 :]


def _weigh_swap(word: str, at: int, language: Language | None) -> float:
    left = find_keyboard(language, word[at]).left
    hands = (word[at].lower() in left) != (word[at + 1].lower() in left)
    return (3.0 if hands else 1.0) * (4 * FIRST_LETTER if at == 0 else 1.0)


def _misspell(word: str, language: Language | None, rng: SeededRandom) -> str | None:
    if language is not Language.EN:
        return _mishear(word, language, rng)
    known = read_variants("misspellings.en").get(word.lower().replace("’", "'"))
    if not known:
        return _mishear(word, language, rng)
    spelt = rng.choice(known)
    return spelt.capitalize() if word[0].isupper() and not word[1:2].isupper() else spelt


_SOUNDS: dict[Language, tuple[tuple[str, str], ...]] = {
    Language.EN: (
        *(("ie", "ei"), ("ei", "ie"), ("ance", "ence"), ("ence", "ance"), ("able", "ible"), ("ible", "able")),
        *(("tely", "tly"), ("ght", "gth"), ("tion", "toin"), ("ully", "uly"), ("ph", "f"), ("ou", "uo")),
        *(("ea", "ae"), ("ing", "in"), ("sc", "s"), ("wh", "w"), ("mm", "m"), ("ss", "s"), ("ment", "mant")),
    ),
    Language.DE: (
        *(("ie", "i"), ("ei", "ie"), ("ß", "ss"), ("ss", "ß"), ("dt", "t"), ("tz", "z"), ("ck", "k")),
        *(("mm", "m"), ("nn", "n"), ("tt", "t"), ("äu", "eu"), ("ä", "e"), ("ieder", "ider"), ("ig", "ich")),
    ),
    Language.FR: (
        *(("ss", "s"), ("tt", "t"), ("nn", "n"), ("ll", "l"), ("er$", "é"), ("ez$", "er"), ("ai$", "ais")),
        *(("eau", "au"), ("qu", "k"), ("ç", "c"), ("ois$", "oi"), ("ait$", "ais"), ("mm", "m")),
    ),
    Language.ES: (
        *(("b", "v"), ("v", "b"), ("h", ""), ("ll", "y"), ("y", "ll"), ("gu", "g"), ("qu", "k"), ("z", "s")),
        *(("s", "z"), ("ci", "si"), ("cc", "c"), ("x", "s")),
    ),
    Language.AR: (
        *(("أ", "ا"), ("إ", "ا"), ("آ", "ا"), ("ة", "ه"), ("ى", "ي"), ("ي", "ى"), ("ئ", "ي"), ("ؤ", "و")),
        *(("ض", "ظ"), ("ظ", "ض"), ("اً", "ا"), ("ذ", "د")),
    ),
}
"""What is written for what sounds, or in Arabic looks, the same; `$`: at a word's end, where alone French
writes `é` for what sounds so: `annulé` for `annuler`, and never `méci`."""


def _mishear(word: str, language: Language | None, rng: SeededRandom) -> str | None:
    found = [
        (at, said, heard)
        for said, heard in (_SOUNDS.get(language, ()) if language else ())
        for at in (_find_sound(word, said, 0 if language is Language.AR else 1),)
        if at >= 0
    ]
    if not found:
        return None
    at, said, heard = rng.choice(found)
    return word[:at] + heard + word[at + len(said.rstrip("$")) :]


def _find_sound(word: str, said: str, begin: int) -> int:
    """Where the sound stands from there on; -1: nowhere."""
    if not said.endswith("$"):
        return word.find(said, begin)
    at = len(word) - len(said) + 1
    return at if at >= begin and word.endswith(said[:-1]) else -1


def _drop_sign(word: str, language: Language | None, rng: SeededRandom) -> str | None:
    """A letter without the sign over it, or with the other one of its language."""
    if language is Language.AR:
        return _mishear(word, language, rng)
    places = [at for at, letter in enumerate(word) if _bare(letter) != letter]
    if not places:
        return None
    at = rng.choice(places)
    bare = _bare(word[at])
    if language is Language.DE and rng.chance(0.4):
        bare += "E" if word.isupper() else "e"
    if language is Language.FR and word[at] in "éèê" and rng.chance(0.35):
        bare = rng.choice([one for one in "éè" if one != word[at]])
    return word[:at] + bare + word[at + 1 :]


def _bare(letter: str) -> str:
    """The letter without its sign. Spanish ñ and Arabic letters are letters of their own."""
    return letter if letter in "ñÑ" or letter > "\u024f" else unicodedata.normalize("NFD", letter)[0]


def _has_signs(word: str) -> bool:
    return not word.isascii() and any(_bare(letter) != letter or letter in "أإآةىئؤ" for letter in word)


def _miss_shift(word: str, language: Language | None, rng: SeededRandom) -> str | None:
    """Shift is let go of too late, or not pressed."""
    late = rng.chance(0.4)
    if not word[0].isupper() or word[1:].lower() != word[1:]:
        return None
    return word[:2].upper() + word[2:] if late and word[1:2].isalpha() else word[0].lower() + word[1:]


def _miss_apostrophe(word: str, language: Language | None, rng: SeededRandom) -> str | None:
    at = max(word.find("'"), word.find("’"))
    if at < 1:
        return None
    return word[:at] + word[at + 1 :]


_SLIPS: dict[str, Slip] = {
    "omission": _omit,
    "neighbour": _hit_neighbour,
    "transposition": _swap,
    "doubling": _double,
    "two keys": _hit_both,
    "spelling": _misspell,
    "sign": _drop_sign,
    "apostrophe": _miss_apostrophe,
    "case": _miss_shift,
}
_WEIGHTS: dict[str, float] = {
    "omission": 0.26,
    "neighbour": 0.19,
    "transposition": 0.13,
    "doubling": 0.08,
    "two keys": 0.07,
    "spelling": 0.14,
    "sign": 0.45,
    "apostrophe": 0.18,
    "case": 0.05,
}
"""A kind that the word gives no occasion for is left out. Spaces are the operator's: 0.09 together."""
_SIGNED = tuple(_WEIGHTS), tuple(_WEIGHTS.values())
_UNSIGNED = tuple(zip(*((kind, weight) for kind, weight in _WEIGHTS.items() if kind != "sign"), strict=True))
"""The kinds and their weights, for words with and without signs over their letters."""
