"""Where `another` stands for a language, or for a currency that money is turned into, in English."""

from __future__ import annotations

import re

from crosswind.injectors.operators.user.values.small_words import GO_ON
from crosswind.injectors.operators.user.values.vague.place import (
    Place,
    ends_clause,
    find_next_word,
    find_word_before,
    list_unnamed,
    withhold,
)
from crosswind.injectors.text.word_lists import make_words
from crosswind.injectors.values.mentions import Mention

LANGUAGES = make_words(
    """
    Arabic Bengali Chinese Czech Danish Dutch English Finnish French German Greek Hebrew Hindi Hungarian
    Italian Japanese Korean Mandarin Norwegian Persian Polish Portuguese Romanian Russian Spanish Swahili
    Swedish Thai Turkish Ukrainian Urdu Vietnamese
    """
)
_CURRENCY = re.compile(
    r"(?:AUD|BRL|CAD|CHF|CNY|EUR|GBP|INR|JPY|KRW|MXN|RMB|SEK|USD)\b|(?:(?:US|U\.S\.|[A-Z][a-z]+) )?"
    r"(?:dollars?|euros?|pounds?|yen|yuan|rupees?|francs?|pesos?|krona|kroner|won)\b"
)


def find_other(text: str, one: Mention, start: int, end: int) -> Place | None:
    """The place of a language, or of a currency that money is turned into."""
    before = find_word_before(text, start)
    spoken = one.thing is None or "language" in one.thing
    if one.text in LANGUAGES and before in ("in", "into", "to"):
        if spoken and (ends_clause(text, end) or find_next_word(text, end) in GO_ON):
            return withhold(start, end, list_unnamed("language"), "language")
        if before in ("to", "into") and (money := _CURRENCY.match(text, start)) is not None:
            return _put_currency(text, start, money.end())
    money = _CURRENCY.match(text, start) if before in ("to", "into", "in") else None
    return None if money is None or money.end() < end else _put_currency(text, start, money.end())


def _put_currency(text: str, start: int, end: int) -> Place | None:
    if not (ends_clause(text, end) or find_next_word(text, end) in GO_ON):
        return None
    forms = ("another currency", "a different currency")
    return withhold(start, end, forms, "currency")
