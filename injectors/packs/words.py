"""The words of a phrase, as the checks of packs compare them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosswind.injectors.packs.parts import Language

_TOKEN = re.compile(r"\{[^{}]*\}|[^\W_]+(?:['’][^\W_]+)?")
_SIGN = re.compile(r"\{[^{}]*\}|[^\W_]")
_UNSPACED = frozenset({Language.ZH, Language.JA})
"""Languages without spaces between words: their characters are compared instead."""
_STOP_WORDS = {
    Language.EN: frozenset(
        """
        a about all an and any are as at be because been before but by can can't could couldn't did didn't do
        does doesn't doing don't else even ever few for from get gets getting give go going got had has have
        haven't he her here hers him his how i i'd i'll i'm i've if in into is isn't it it'll it's its like
        made make may me might mine more most much must my need no not now of off on once one only or other
        our out over own put really same see she should since so some still such than that that's the their
        them then there there's these they they're thing things this those though through to too under until
        up us use very want was wasn't we we're were what what's when where whether which while who whose why
        will with won't would wouldn't yet you you'd you'll you're you've your yours
        """.split()  # noqa: SIM905
    ),
}
_VALUE_WORDS = {
    Language.EN: frozenset(
        """
        two three four five six seven eight nine ten eleven twelve twenty thirty hundred thousand dozen
        monday tuesday wednesday thursday friday saturday sunday today yesterday tomorrow tonight
        january february april june july august september october november december
        """.split()  # noqa: SIM905
    ),
}
"""Numbers and days in words. "March" and "May" mean too much else."""


def value_words(language: Language) -> frozenset[str]:
    return _VALUE_WORDS.get(language, frozenset())


def stop_words(language: Language) -> frozenset[str] | None:
    """The words that any text repeats; None where we have no list, so that no use of words is checked."""
    return _STOP_WORDS.get(language)


def split_words(text: str, language: Language) -> list[str]:
    """Words in lower case, and slots; in Chinese and Japanese the single characters."""
    pattern = _SIGN if language in _UNSPACED else _TOKEN
    return [token.replace("’", "'") for token in pattern.findall(text.casefold())]


def opening(text: str, language: Language) -> tuple[str, ...]:
    """How a text begins: three words or five characters; nothing for a text that is hardly longer."""
    tokens = split_words(text, language)
    length, least = (5, 9) if language in _UNSPACED else (3, 5)
    return tuple(tokens[:length]) if len(tokens) >= least else ()


def runs(text: str, language: Language) -> Iterator[tuple[str, ...]]:
    """All runs of four words, or of eight characters, that have no slot within."""
    tokens = split_words(text, language)
    length = 8 if language in _UNSPACED else 4
    for start in range(len(tokens) - length + 1):
        run = tuple(tokens[start : start + length])
        if not any(token.startswith("{") for token in run):
            yield run
