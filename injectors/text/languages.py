"""Tell the language of a text: by its script, or by its small words.

English is the only language whose words the rules know. A rule that replaces words can do nothing in another
language. It then draws `unable` with the reason. A model may still write the text for it; without a model the
event is withheld, and its note gives the reason.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Any


class Language(StrEnum):
    """The languages that there are phrase packs for."""

    EN = "en"
    DE = "de"
    ES = "es"
    FR = "fr"
    ZH = "zh"
    JA = "ja"
    AR = "ar"


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
    """.split()
)
"""Words that hardly any other language has: one of them proves English."""
_COMMON = frozenset(
    """
    a all am an and any are as at be been but by can did do does for from get give had has have he her his i
    if in is it its me my no not of on one or our out she so some than then there to up us was we were
    who will
    """.split()
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
    """.split()
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
    if not text.isascii():
        letters = [letter for letter in text if letter.isalpha()]
        if 2 * sum(not _is_latin(letter) for letter in letters) > max(len(letters), 2 * LEAST):
            return True
    # Tokens with other characters than letters (ids, paths, addresses) say nothing of the language.
    words = _count_words(text, _read_cased)
    small: dict[str, int] = {}
    for word, count in words.items():
        lower = word.lower()
        small[lower] = small.get(lower, 0) + count
    if not _PLAIN.isdisjoint(small):
        return False
    foreign = sum(small[word] for word in _FOREIGN.intersection(small))
    if not text.isascii():
        foreign += sum(
            count
            for word, count in words.items()
            if not word.isascii() and word.islower() and word not in _FOREIGN
        )
    return foreign >= LEAST and foreign > sum(small[word] for word in _COMMON.intersection(small))


def _count_words(text: str, read: Callable[[str], str]) -> dict[str, int]:
    """How often each word stands there, as `read` gives it; empty ones are left out."""
    words: dict[str, int] = Counter(map(read, text.split()))
    words.pop("", None)
    return words


@lru_cache(8192)
def _read_cased(token: str) -> str:
    """The word of a token; empty where it is none, or in capitals."""
    bare = token.strip(_EDGES).replace("’", "'")
    return bare if bare.replace("'", "").isalpha() and not bare.isupper() else ""


@lru_cache(8192)
def _read_lower(token: str) -> str:
    """The word of a token in lower case; empty where it is none."""
    bare = token.strip(_EDGES + "¿¡").replace("’", "'").lower()
    return bare if bare.replace("'", "").isalpha() else ""


_SMALL: dict[Language, frozenset[str]] = {
    Language.EN: _PLAIN | _COMMON,
    Language.DE: frozenset(
        """
        aber alle als am auch auf aus bei bis bitte dann das dass dein dem den der des die dir doch du ein
        eine einem einen einer eines er es für gibt guten habe haben hallo hat ich ihr ihre im in ist ja kann
        kannst können mal man mein meine meinen mich mir mit möchte nach nicht noch nur oder schon sein sich
        sie sind so um und uns von vom vor wann war was wenn werden wer wie will wir wird wo würde zu zum zur
        über
        """.split()
    ),
    Language.ES: frozenset(
        """
        a al algo algún buenas con cuando cuál cuánto cómo de del dónde el ella en eres es esa ese eso esta
        estaba estar este esto está estoy favor gracias ha hay he hola la las le lo los me mi mis muy más
        necesito no nos o para pero por porque pueda puede puedes podrías que quiero qué se ser si sin sobre
        son su sus sí también te tengo tu un una unos y ya yo
        """.split()
    ),
    Language.FR: frozenset(
        """
        a ai au aussi aux avec avez avoir besoin bien bonjour c'est ce ces cette combien comme dans de des
        donne du elle en est et être faire il j'ai j'aimerais je la le les leur ma mais me merci mes moi
        mon ne non nous on ou où par pas peux pour pourrais pouvez qu'il que quel quelle qui quoi sa se si son
        sont suis sur ta te tout tu un une veux voudrais votre vous y à
        """.split()
    ),
}
"""The small words of each language that is told by them. Some are of several languages."""


def detect_language(text: str) -> Language | None:
    """The language of the text; None where it is none of them, or too short to tell. A text without small
    words is taken for English where its letters are plain.
    """
    return _detect_language(unicodedata.normalize("NFC", text[:LONGEST]))


@lru_cache(1024)
def _detect_language(text: str) -> Language | None:
    if not text.isascii():
        letters = [letter for letter in text if letter.isalpha()]
        if (script := _find_script(text, letters)) is not None:
            return script
        if 2 * sum(not _is_latin(letter) for letter in letters) > len(letters):
            return None
    words = _count_words(text, _read_lower)
    scores = {
        language: sum(words[word] for word in small.intersection(words)) for language, small in _SMALL.items()
    }
    least = 0
    if _may_be_foreign(text, words) and _is_foreign(text[:LONGEST]):
        del scores[Language.EN]
        least = LEAST
    best = max(scores.values())
    leaders = [language for language, score in scores.items() if score == best]
    if best == 0:
        return Language.EN if text.isascii() and words and not least else None
    return leaders[0] if best >= least and (len(leaders) == 1 or leaders[0] is Language.EN) else None


def _may_be_foreign(text: str, words: Mapping[str, int]) -> bool:
    """Whether a text's words, in lower case, leave open that it is foreign."""
    return not text.isascii() or sum(words[word] for word in _FOREIGN.intersection(words)) >= LEAST


def _find_script(text: str, letters: list[str]) -> Language | None:
    """The language of a text whose script tells it. Chinese characters beside kana are Japanese."""
    kana = sum("\u3040" <= letter <= "\u30ff" for letter in letters)
    han = sum("\u3400" <= letter <= "\u9fff" for letter in letters)
    arabic = sum("\u0600" <= letter <= "\u06ff" for letter in letters)
    # An ideograph says as much as a word: beside Latin words a few are enough.
    latin = sum(any(map(_is_latin, filter(str.isalpha, token))) for token in text.split())
    if kana + han > 0 and kana + han >= latin:
        return Language.JA if 8 * kana >= kana + han else Language.ZH
    return Language.AR if 2 * arabic > len(letters) else None


def _is_latin(letter: str) -> bool:
    return letter < "\u0250" or "\u1e00" <= letter <= "\u1eff"
