"""Numbers in words, in the languages that values are found in."""

from __future__ import annotations

from collections.abc import Mapping

from crosswind.injectors.text.languages import Language

_SMALL: Mapping[Language, tuple[str, ...]] = {
    language: tuple(words.split())
    for language, words in {
        Language.EN: "zero one two three four five six seven eight nine ten eleven twelve",
        Language.DE: "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
        Language.ES: "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
        Language.FR: "zéro un deux trois quatre cinq six sept huit neuf dix onze douze",
    }.items()
}
_TENS: Mapping[Language, Mapping[int, str]] = {
    language: dict(zip((15, *range(20, 100, 10)), words.split(), strict=False))
    for language, words in {
        Language.EN: "fifteen twenty thirty forty fifty sixty seventy eighty ninety",
        Language.DE: "fünfzehn zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
        Language.ES: "quince veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
        Language.FR: "quinze vingt trente quarante cinquante soixante",
    }.items()
}
_HUNDRED = {Language.EN: "a hundred", Language.DE: "hundert", Language.ES: "cien", Language.FR: "cent"}
_VALUES = {
    word: value
    for language, words in _SMALL.items()
    for value, word in (*enumerate(words), *_TENS[language].items())
    if value > 1
} | {"one": 1, "a": 1, "an": 1}


def list_numerals() -> list[str]:
    """The words that are read as numbers from two on, in all languages."""
    return [word for word, value in _VALUES.items() if value > 1]


def read_numeral(word: str) -> int | None:
    """The value of a number in one word; None for other words."""
    return _VALUES.get(word.lower())


def spell(value: int, language: Language) -> str:
    """A number in words, where the language has a word for it here; else in digits."""
    small = _SMALL.get(language, ())
    if value < len(small):
        return small[value]
    return _HUNDRED[language] if value == 100 and small else _TENS.get(language, {}).get(value, str(value))


def list_near(word: str) -> tuple[str, ...]:
    """The words for numbers at most three away, from two on, in the language of the word."""
    lowered = word.lower()
    for words in _SMALL.values():
        if lowered in words[2:]:
            at = words.index(lowered)
            return tuple(one for one in words[max(2, at - 3) : at + 4] if one != lowered)
    return ()
