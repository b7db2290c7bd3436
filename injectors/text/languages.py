"""Tell whether a text is in English, the only language whose words the rules know.

A rule that replaces words can do nothing in another language. It then draws `unable` with the reason. A model
may still write the text for it; without a model the event is withheld, and its note gives the reason.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

UNABLE = "unable"
"""The member of a draw that says why the rule can't carry it out."""

ENGLISH_ONLY = "the rule knows English words only, and this text is in another language"

LONGEST = 2_000
"""Characters that are examined: a language shows early."""

LEAST = 2
"""The fewest foreign words that make a text foreign: names contain such words, too."""

_EDGES = ".,;:!?()[]{}<>\"'“”‘’«»„…-"
_PLAIN = frozenset(
    """
    could don't hello how i'm it's need please should thank thanks that the these they this those what when
    where which why with would you your
    """.split()  # noqa: SIM905
)
"""Words that hardly any other language has: one of them proves English."""
_COMMON = frozenset(
    """
    a all am an and any are as at be been but by can did do does for from get give had has have he her his i
    if in is it its me my no not of on one or our out she so some than then there to up us was we were
    who will
    """.split()  # noqa: SIM905
)
_FOREIGN = (
    frozenset(
        """
    auf bitte das dem den der ein eine einem einen einer eines für gibt habe haben ich ihre ist kann mein
    meine mit nicht oder seine seinen sie und von werden wie wird zu zum zur
    au aux avec dans donne du est et je leur mon ne par pour qui quoi sont suis une votre vous
    como del está este mis para pero por que quiero su una uno yo
    che di gli il mio nel non sono un vorrei
    com da do dos eu meu minha não os um uma você
    een graag het hij ik maar mijn naar niet ook voor wil
    aby czy dla jest jestem moje na nie od proszę się to ze
    att det du är ett inte jag och på som
    av den det er et ikke jeg med mitt og på til
    bir bu çok için ile mi ne ve var
    dan ini itu saya tidak untuk yang
    """.split()  # noqa: SIM905
    )
    - _COMMON
    - {"non", "mi", "na", "var", "mis", "det", "med", "com"}
)
"""Small words that English does not have, but German, French, Spanish, Italian, Portuguese, Dutch, Polish,
Swedish, Danish, Norwegian, Turkish and Indonesian do."""


def mark_unable(text: str, draw: Mapping[str, Any]) -> dict[str, Any] | None:
    """The draw of a rule that found nothing to change, with the reason, if the text is foreign; else None."""
    return {**draw, UNABLE: ENGLISH_ONLY} if is_foreign(text) else None


def is_foreign(text: str) -> bool:
    """Whether the text is clearly in another language than English."""
    return _is_foreign(unicodedata.normalize("NFC", text[:LONGEST]))


@lru_cache(1024)
def _is_foreign(text: str) -> bool:
    letters = [letter for letter in text if letter.isalpha()]
    if 2 * sum(not _is_latin(letter) for letter in letters) > max(len(letters), 2 * LEAST):
        return True
    # Tokens with other characters than letters (ids, paths, addresses) say nothing of the language.
    bare = (token.strip(_EDGES).replace("’", "'") for token in text.split())
    words = [word for word in bare if word.replace("'", "").isalpha() and not word.isupper()]
    small = [word.lower() for word in words]
    if not _PLAIN.isdisjoint(small):
        return False
    accented = sum(not word.isascii() and word.islower() and word not in _FOREIGN for word in words)
    foreign = accented + sum(word in _FOREIGN for word in small)
    return foreign >= LEAST and foreign > sum(word in _COMMON for word in small)


def _is_latin(letter: str) -> bool:
    return letter < "\u0250" or "\u1e00" <= letter <= "\u1eff"
