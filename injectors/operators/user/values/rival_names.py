"""How a value and its rival are named: in the value's place, and in a sentence of their own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import takewhile

from crosswind.injectors.operators.user.values.slips import is_said
from crosswind.injectors.operators.user.values.small_words import qualifies
from crosswind.injectors.operators.user.values.sure_values import PLURAL
from crosswind.injectors.operators.user.values.vague.place import find_word_before
from crosswind.injectors.text.languages import UNSPACED, Language
from crosswind.injectors.values.calendar import month_of
from crosswind.injectors.values.known_names import CALIFORNIAN
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType

COUNTERS = frozenset("张枚个個位名人间泊件台部本册冊次回点份条杯瓶双辆家封套块箱袋桶")
"""Chinese and Japanese words between a number and what it counts."""
MOMENTS = (ValueType.DATE, ValueType.TIME)
_ARTICLES = ("a", "an", "the")
_ADJECTIVE = re.compile(r"(?!1\b)\d+[ -][a-z]+[^s]")
"""`45 minute`, which stands before a noun."""


def shorten(text: str, value: str, rival: str) -> str:
    """The rival without the words in which both end, where what is left says something of its own."""
    words, ends = rival.split(" "), value.split(" ")
    shared = sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(words[::-1], ends[::-1], strict=False))
    )
    short = " ".join(words[: len(words) - shared]).rstrip(",")
    return short if short and not is_said(text, short) and not is_said(value, short) else rival


def is_noun(text: str, one: Mention, language: Language) -> bool:
    """Whether an option is a noun by itself, which is said again with its article: `a comedy`."""
    article = language is Language.EN and find_word_before(text, one.start) in ("a", "an")
    return article and one.type is ValueType.OPTION and not qualifies(text, one.end)


def find_article(text: str, at: int) -> str:
    """The article right before a place, with its space."""
    before = find_word_before(text, at)
    return f"{before} " if before in _ARTICLES else ""


def find_noun_behind(text: str, one: Mention, language: Language) -> str:
    """The noun that an option stands before, and that is said again with it: `a standard ride, sorry, a
    shared ride`."""
    noun = _NOUN.match(text, one.end)
    if noun is None or language is not Language.EN or one.type is not ValueType.OPTION:
        return ""
    return noun[0] if qualifies(text, one.end) and not qualifies(text, noun.end()) else ""


_NOUN = re.compile(r" [a-z]{3,}\b")
_BEFORE_OPTIONS = frozenset(("a", "an", "the", "with", "in", "and"))
"""Words before an option that say where what it belongs to begins."""


def name_option(text: str, one: Mention, rival: str, language: Language) -> tuple[str, str]:
    """A value and its rival by themselves, or an option's with the noun that it stands before: `the rear
    door`."""
    article, noun = find_article(text, one.start), find_noun_behind(text, one, language)
    if is_noun(text, one, language):
        return f"{article}{one.text}", f"{article}{rival}"
    if not noun or find_word_before(text, one.start) not in _BEFORE_OPTIONS:
        return one.text, rival
    return f"{article}{one.text}{noun}", f"{article}{rival}{noun}"


def find_span(text: str, one: Mention, rival: str, language: Language) -> tuple[int, int, str, str]:
    """What gives way in the value's place, and how the value and its rival are told there."""
    if language in UNSPACED and one.type is ValueType.NUMBER and text[one.end : one.end + 1] in COUNTERS:
        counter = text[one.end]
        return one.start, one.end + 1, f"{one.text}{counter}", f"{rival}{counter}"
    start, words = one.start, _CARRIED.get(language, frozenset())
    if one.type in (*MOMENTS, ValueType.PLACE) or language is Language.ES:
        while (before := find_word_before(text, start)) in words:
            start -= len(before) + 1
    if is_noun(text, one, language):
        start -= len(find_word_before(text, start)) + 1
    lead = text[start : one.start]
    return start, one.end, f"{_lower_lead(lead, words)}{one.text}", f"{lead}{rival}"


def _lower_lead(lead: str, words: frozenset[str]) -> str:
    """The words before a value as they are said again within a sentence: `The 9:15, I mean the 8:15`."""
    first = lead.split(maxsplit=1)[0] if lead else ""
    opens = first.lower() in words and first.istitle()
    return f"{lead[0].lower()}{lead[1:]}" if opens else lead


_CARRIED: Mapping[Language, frozenset[str]] = {
    Language.EN: frozenset(("the",)),
    Language.DE: frozenset("am dem den der im um".split()),
    Language.ES: frozenset("a el la las los".split()),
    Language.FR: frozenset("à le la".split()),
}
"""Words that belong to a value, and are said again with it: `the 3rd`, `a las 17:00`."""


def name_both(text: str, one: Mention, rival: str, language: Language) -> tuple[str, str] | None:
    """The value and its rival as a sentence of their own names them; None where they would say too little."""
    if one.type is ValueType.NUMBER:
        if language in UNSPACED:
            counter = text[one.end : one.end + 1]
            return (f"{one.text}{counter}", f"{rival}{counter}") if counter in COUNTERS else None
        noun = PLURAL.match(text, one.end) if language is Language.EN else None
        return (f"{one.text}{noun[0]}", f"{rival}{noun[0]}") if noun is not None else None
    if one.type in (ValueType.OPTION, ValueType.WORD) or month_of(one.text) is not None:
        return None
    if one.type is ValueType.DURATION and _ADJECTIVE.fullmatch(one.text):
        return None
    if language is Language.EN and one.type is ValueType.DATE and find_word_before(text, one.start) == "the":
        return f"the {one.text}", f"the {rival}"
    if one.type is ValueType.DATE and (year := _YEAR.search(one.text)) is not None:
        rival = rival.removesuffix(year[0])
    return name_value(one.text, one.type, language), name_value(rival, one.type, language)


_YEAR = re.compile(r"(?<=[a-z\d]),? \d{4}\Z")
"""The year of a date, which nobody says again to correct its day."""


def find_region(text: str, one: Mention, rival: str) -> str:
    """The state behind a city, where its rival lies there, too: `, CA`."""
    found = _STATE.match(text, one.end)
    return found[0] if found is not None and {one.text, rival} <= CALIFORNIAN else ""


_STATE = re.compile(r", (?:CA|Calif(?:\.|ornia))(?![\w-])")


def name_value(value: str, kind: ValueType, language: Language) -> str:
    """A value as a sentence of its own names it: with the article that its language gives a date."""
    if not value[:1].isdigit() or kind not in (ValueType.DATE, ValueType.TIME):
        return value
    written = re.search(r"[^\W\d]{3}", value) is not None
    if language is Language.FR and kind is ValueType.DATE and written:
        return f"le {value}"
    if language is Language.ES and kind is ValueType.DATE and written:
        return f"el {value}"
    if language is Language.ES and kind is ValueType.TIME:
        return f"la {value}" if re.match(r"1\b", value) else f"las {value}"
    return value
