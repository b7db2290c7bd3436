"""Slips of Chinese and Japanese input methods: another conversion of the same sounds, a syllable that stayed
in Latin letters, a character twice.

Such slips are made only in words that put requests, and there only where a request begins or ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from crosswind.injectors.operators.user.typos.plain_words import PlainWord
from crosswind.injectors.operators.user.typos.romaji import convert, spell
from crosswind.injectors.operators.user.typos.slips import draw_key_slip
from crosswind.injectors.operators.user.typos.word_lists import read_variants
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.text.edits import touches
from crosswind.injectors.text.entities import Span
from crosswind.injectors.text.languages import Language

LANGUAGES = frozenset({Language.ZH, Language.JA})

_FRAME_ZH = re.compile("[请帮我您你能不可以给想要需先再就也还都那好个一下]")
"""Characters of the words by which a Chinese clause asks."""
_CLOSING = {Language.ZH: re.compile("[吗呢吧了啊呀哦~～ ]*\\Z"), Language.JA: re.compile("[ぁ-ん ]{0,8}\\Z")}
"""What follows such words at a clause's end."""
_CLAUSE = re.compile(r"[^，。！？；：,.!?;:、\n「」『』“”\"'（）()]+")

_KINDS = {
    Language.ZH: {"conversion": 0.6, "unconverted": 0.2, "twice": 0.1, "omission": 0.1},
    Language.JA: {"conversion": 0.25, "key": 0.75},
}
_HIRAGANA = re.compile(r"[ぁ-ん]{2,}")


@lru_cache(4)
def _compile(language: Language) -> re.Pattern[str]:
    words = sorted(read_variants(f"homophones.{language}"), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, words)))


def find_request_words(text: str, language: Language, protected: Sequence[Span]) -> tuple[PlainWord, ...]:
    """The words that may come out wrong, in order."""
    return tuple(_find(text, language, protected))


def _find(text: str, language: Language, protected: Sequence[Span]) -> Iterator[PlainWord]:
    words = _compile(language)
    for clause in _CLAUSE.finditer(text):
        begin, end = clause.span()
        if text[begin - 1 : begin] in (":", "："):
            continue  # A text that a call needs as it is may follow.
        opening = begin
        if language is Language.ZH:
            while (frame := _FRAME_ZH.match(text, opening, end)) or (
                frame := words.match(text, opening, end)
            ):
                opening = frame.end()
        for match in words.finditer(text, begin, end):
            lone = match.end() - match.start() == 1 and match.start() > begin  # May be a part of any word.
            opens = match.end() <= opening or (match.start() == begin and language is Language.JA)
            closes = _CLOSING[language].match(text, match.end(), end) is not None
            inside = touches(protected, match.start(), match.end())
            if ((opens and not lone) or closes) and not inside:
                yield PlainWord(*match.span())


def draw_conversion(
    text: str, one: PlainWord, language: Language, rng: SeededRandom
) -> tuple[str, str] | None:
    """The kind of slip, and what comes out in the word's place."""
    word = text[one.start : one.end]
    kinds = _KINDS[language]
    kind = rng.weighted(tuple(kinds), tuple(kinds.values()))
    other = rng.choice(read_variants(f"homophones.{language}")[word])
    at = rng.integer(0, len(word) - 1)
    typed = None
    match kind:
        case "key":
            typed = _mistype_kana(word, rng)
        # Letters beside a value would look like a part of it.
        case "unconverted" if word[at] in read_variants("pinyin") and _stands_apart(text, one, at):
            typed = word[:at] + read_variants("pinyin")[word[at]][0] + word[at + 1 :]
        case "twice":
            typed = word[: at + 1] + word[at:]
        case "omission" if len(word) > 2 and at > 0:
            typed = word[:at] + word[at + 1 :]
    return (kind, typed) if typed and typed != word else ("conversion", other)


def _stands_apart(text: str, one: PlainWord, at: int) -> bool:
    """Whether no other word touches the letter of the word at that place."""
    return at < one.end - one.start - 1 and (at > 0 or not text[one.start - 1 : one.start].isalnum())


def _mistype_kana(word: str, rng: SeededRandom) -> str | None:
    """The word as the input method gives it after a slip of a key."""
    kana = _HIRAGANA.search(word)
    keys = spell(kana[0]) if kana else None
    if kana is None or keys is None:
        return None
    slip = draw_key_slip(keys, rng)
    return word[: kana.start()] + convert(slip) + word[kana.end() :] if slip else None
