"""Values told by their form (dates, amounts, ids, numbers), and names, told by capitals or by a list.
Every scan is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from crosswind.injectors.text.caseless import CaselessPattern
from crosswind.injectors.text.edits import any_of, compile_phrases
from crosswind.injectors.text.languages import Language, detect_language
from crosswind.injectors.text.tokens import TokenProperty, WordKind, read_tokens
from crosswind.injectors.values.calendar import MONTH_WORDS, MONTHS, NEAR_DAYS, WEEKDAYS
from crosswind.injectors.values.known_names import CITIES
from crosswind.injectors.values.numerals import list_numerals
from crosswind.injectors.values.parameters import ValueType

LONGEST = 16_384
"""Characters of the longest text in which values are looked for."""

LONGEST_VALUE = 400
"""Characters of the longest value that is no path. No number with more digits is one that somebody reads."""

_NUMBER = r"\d+(?:[.,]\d+)*"
_NUMBER_WORDS = any_of(list_numerals())
_MONTH = any_of(name.lower() for names in MONTHS.values() for name in names)
_MONTH = rf"(?:{_MONTH}|(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?)"
_MONTH_NAMES = any_of(name.lower() for name in MONTHS["en"])
_NTH = r"\d{1,2}(?:st|nd|rd|th|er|º|\.)?(?!\d)"
_DAYS_IN_WORDS = any_of(
    {day.lower() for table in (WEEKDAYS, NEAR_DAYS) for days in table.values() for day in days}
)
_UNITS = (
    "seconds?|minutes?|mins?|hours?|hrs?|days?|nights?|weeks?|months?|years?|"
    "sekunden?|minuten?|stunden?|tage?n?|nächte?n?|wochen?|monate?n?|jahre?n?|"
    "segundos?|minutos?|horas?|días?|noches?|semanas?|meses|años?|"
    "secondes?|heures?|jours?|nuits?|semaines?|mois|ans?|années?"
)
_CURRENCIES = "usd|eur|gbp|inr|jpy|cny|dollars?|bucks|euros?|pounds?|rupees|yen|yuan|pesos?|francs?"
_FORMS: tuple[tuple[ValueType, str], ...] = (
    (ValueType.EMAIL, r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+"),
    (ValueType.FILE, r"(?:https?://|www\.)[^\s<>\"']+"),
    (
        ValueType.DATE,
        rf"\d{{4}}-\d\d-\d\d|\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}|(?:\d{{4}}年)?\d{{1,2}}月\d{{1,2}}[日号號]|"
        rf"\b{_MONTH} {_NTH}(?:,? \d{{4}})?|\b{_NTH} (?:of |de )?{_MONTH}(?:,? (?:de )?\d{{4}})?|"
        rf"(?:\bnext |\bthis |\blast )?\b(?:{_DAYS_IN_WORDS})(?!\w)|"
        r"(?:今天|明天|后天|周[一二三四五六日]|明日)|"
        rf"\b(?:next|this|last) (?:week|month|year|weekend|quarter)\b|\b{_MONTH_NAMES}\b(?: \d{{4}})?",
    ),
    (
        ValueType.TIME,
        r"(?:上午|下午|晚上)?\b\d{1,2}(?::\d\d){1,2}(?: ?[ap]\.?m\.?)?|"
        r"\b\d{1,2} ?(?:[ap]\.?m\b\.?(?! (?:\w+tag\b|mittwoch|wochenende|\d{1,2}\.))"
        r"|o'clock|uhr)|\b\d{1,2}h(?:\d\d)?\b|"
        r"\b(?:noon|midnight)\b|(?:上午|下午|晚上)?\d{1,2}[点時时](?!间|間)(?:半|\d{1,2}分)?",
    ),
    (
        ValueType.MONEY,
        rf"[$€£¥₹] ?{_NUMBER}|\b{_NUMBER} ?(?:[€£¥]|(?:{_CURRENCIES})\b)|\b(?:usd|eur|gbp|inr) {_NUMBER}|"
        rf"{_NUMBER} ?[万億千百]?[元円块]",
    ),
    (
        ValueType.DURATION,
        rf"\b(?:{_NUMBER}|an?|one|{_NUMBER_WORDS}|ein(?:e|en)?)[ -](?:{_UNITS})\b|"
        r"\d+ ?(?:分钟|小时|天|周|个月|年|時間|分間|日間|週間|泊)",
    ),
    (
        ValueType.FILE,
        r"(?:~|\.{1,2})?/[\w.~-]+(?:/[\w.~-]*)*|\b[a-z]:\\[^\s]+|"
        r"(?<![\w-])[\w-]{1,80}\.(?:txt|md|py|js|ts|json|ya?ml|csv|tsv|xlsx?|docx?|pptx?|pdf|png|jpe?g|gif|svg|html?|css|sh|c|h|"
        r"cpp|java|go|rs|rb|sql|log|zip|tar|gz|toml|ini|cfg|xml|ipynb|mp[34]|wav)\b",
    ),
    (
        ValueType.NUMBER,
        rf"(?<![\w.-]){_NUMBER}(?:[ck]?m|mm|k?g|mg|m?l|[km]ph|km/h|mi|ft|lbs?|[gmt]b|°[cf])(?![\w-])",
    ),
    (
        ValueType.ID,
        r"#[\w-]{0,40}\d[\w-]{0,40}|"
        r"(?<![\w-])(?=[\w-]{0,40}[a-z])(?=[\w-]{0,40}\d)[a-z0-9]{1,40}(?:[-_][a-z0-9]{1,40}){0,8}(?![\w-])",
    ),
    (ValueType.NUMBER, rf"(?<![\w.]){_NUMBER}(?: ?%|(?![\w]| ?[万億千百]))|\b(?:{_NUMBER_WORDS})\b"),
)
_FORM = CaselessPattern(
    "|".join(f"(?P<f{number}>{form})" for number, (_, form) in enumerate(_FORMS)),
    re.ASCII,  # Letters without spaces between them are no part of a value: `订单A20931`.
)
_KINDS = {f"f{number}": kind for number, (kind, _) in enumerate(_FORMS)}
_FIRST_LETTERS = re.compile(r"[a-z]+", re.ASCII)
_FIRST_WORDS = frozenset(
    letters[0]
    for word in (
        *("a", "an", "one", "ein", "eine", "einen", "next", "this", "last", "noon", "midnight"),
        *("usd", "eur", "gbp", "inr"),
        *("jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec"),
        *list_numerals(),
        *(name for names in MONTHS.values() for name in names),
        *(day for table in (WEEKDAYS, NEAR_DAYS) for days in table.values() for day in days),
    )
    if (letters := _FIRST_LETTERS.match(word.lower()))
)
"""The letters, as far as they are in ASCII, with which a form begins that no other sign tells."""
_PLAIN_TOKEN = re.compile(r"[A-Za-z'\",;:!?()*_-]*\.*")
_BEHIND_FORMS = ".,;:!?)\"'"
"""Marks at a token's end, where no form begins."""
_LONGEST_TOKEN = 24
"""Characters of the longest token at each of which a form is looked for by itself."""


_THE = frozenset({"the", "The", "THE"})
"""Of all words with which a form begins the most common one."""
_BEHIND_THE = tuple(
    day.removeprefix("the") for days in NEAR_DAYS.values() for day in days if day.startswith("the ")
)
"""The rest of the forms that begin so: ` day after tomorrow`."""
_BEHIND_THE_MOST = max(map(len, _BEHIND_THE))


def _goes_on(text: str, at: int) -> bool:
    return text[at : at + _BEHIND_THE_MOST].lower().startswith(_BEHIND_THE)


def _find_begins(token: str) -> Sequence[int] | None:
    """Where in a token a form may begin: in one that is plain words, at those words that forms begin with;
    None: nowhere. Most tokens of a text are such words, and to hold each of their letters against all forms
    takes longest. Empty: it is too long to tell."""
    if len(token) > _LONGEST_TOKEN:
        return ()
    if _PLAIN_TOKEN.fullmatch(token) is None:
        return range(len(token.rstrip(_BEHIND_FORMS))) or None
    letters = _FIRST_LETTERS.finditer(token.lower())
    return [match.start() for match in letters if match[0] in _FIRST_WORDS] or None


_BEGINS = TokenProperty(_find_begins)


_LOWER_MONTHS = frozenset(name.lower() for name in MONTHS["en"])
"""In lower case they may be other words: may, march."""
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)")
# The next patterns begin with a character, and ask behind it what stands before: a pattern that begins with a
# question is held against each place of a text.
_CAPITAL = "[A-ZÀ-ÖØ-Þ]"
_TITLE = "(?:(?<=D)r|(?<=M)r|(?<=M)rs|(?<=M)s|(?<=P)rof|(?<=S)t|(?<=H)err|(?<=F)rau)"
"""Behind its first letter."""
_NAMED_RUN, _GERMAN_RUN = (
    re.compile(
        rf"{_CAPITAL}(?<![\w'’]{_CAPITAL})(?:{_TITLE}\b\.? {_CAPITAL})?[\w'’-]*[^\W\d_]"
        rf"(?:[ -]{joined}{_CAPITAL}[\w'’-]*)*"
    )
    for joined in ("(?:(?:of|de|la|le|du|von|the|&) )?", "")
)
_STREET = re.compile(
    r"\d(?<!\w\d)\d{0,4}[a-z]? (?:[A-Z][a-z]+ ){1,3}"
    r"(?:Street|St|Avenue|Ave|Road|Rd|Lane|Ln|Drive|Boulevard|Blvd|Court|Way)\b"
)
_KNOWN_CITY = compile_phrases(
    *(city.lower() for cities in CITIES.values() for city in cities if city[0] < "\u0250")
)
_KNOWN_CITY_IN_LOWER_CASE = re.compile(_KNOWN_CITY.pattern)
"""The same for a text in ASCII in lower case: found several times as fast."""
_CITY = WordKind(
    frozenset(
        first[0]
        for cities in CITIES.values()
        for city in cities
        if (first := _FIRST_LETTERS.match(city.lower()))
    ).__contains__
)
"""First words of cities."""
_CITY_IN_SCRIPT = re.compile(
    "|".join(city for cities in CITIES.values() for city in cities if city[0] > "\u0250")
)
_HONOURED = re.compile(
    r"[\u4e00-\u9fff]{1,4}(?=さん|様|氏)|(?<=[给找跟约])[王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗][\u4e00-\u9fff](?![\u4e00-\u9fff]?店)"
)
"""Names of persons, behind which or before which a word tells so."""
_ENDS_AMOUNT = frozenset("a an ein eine einen".split())
_BEFORE_STRETCH = frozenset(
    """
    about after almost another around at by every for half in is last least most next only over past
    take takes than the this under up wait within für in nach seit vor
    """.split()
)
"""Words behind which `a week` is a duration; behind an amount it means each."""
_NO_NAME = frozenset(("I", "OK", "PM", "AM", "Sie", "Ihnen", "Ihr", "Ihre", "Ihren"))
_BEFORE_PLACE = frozenset(
    """
    in to from near at around for towards via toward nach von aus bei en a hacia desde à de vers
    """.split()
)


def find_forms(text: str) -> Iterator[tuple[int, int, ValueType]]:
    """The values that their form tells: dates, amounts, ids, numbers."""
    for match in _STREET.finditer(text):
        yield *match.span(), ValueType.PLACE
    for match in _match_forms(text):
        kind, (start, end) = _KINDS[str(match.lastgroup)], match.span()
        said = text[start:end]
        end -= said[-1] in ".,"
        if end <= start or _ORDINAL.fullmatch(said):
            continue
        if len(said) > LONGEST_VALUE and kind is not ValueType.FILE:
            continue
        if kind is ValueType.DATE and said[0].islower() and said in _LOWER_MONTHS:
            continue
        if said == "May" and _begins_sentence(text, start):
            continue
        each = kind is ValueType.DURATION and said.partition(" ")[0].lower() in _ENDS_AMOUNT
        if each and _last_word(text, start) not in _BEFORE_STRETCH:
            continue
        yield start, end, kind


def _match_forms(text: str) -> Iterator[re.Match[str]]:
    """All matches of `_FORM`, without a look at the tokens in which none begins."""
    at = 0
    tokens = read_tokens(text)
    for token, begin, begins in zip(tokens.texts, tokens.starts, _BEGINS.of(tokens), strict=True):
        if begins is None:
            continue
        for offset in begins if token not in _THE or _goes_on(text, begin + len(token)) else ():
            start = begin + offset
            if start >= at and (match := _FORM.match(text, start)) is not None:
                yield match
                at = match.end()
        if not begins:
            start, end = max(begin, at), begin + len(token)
            # What is found behind the token is no less the next match.
            while start < end and (match := _FORM.search(text, start)) is not None:
                yield match
                start = at = max(match.end(), start + 1)
            if start < end:
                return  # Nor is there any behind the token.


def find_names(text: str) -> Iterator[tuple[int, int, ValueType]]:
    """Capitalised words that no sentence begins with: places behind a preposition of place, and names. In
    German a single one may be any noun. And cities and persons that are told by what they are called.
    """
    german = detect_language(text) is Language.DE
    for match in (_GERMAN_RUN if german else _NAMED_RUN).finditer(text):
        start, end = _skip_command(text, match), match.end()
        name = text[start:end]
        several = " " in name
        if (not several or german) and _begins_sentence(text, start):
            continue
        if not _NO_NAME.isdisjoint(name.split(" ")) or name.startswith(("I'", "I’")):
            continue
        if name.rstrip(".").lower() in MONTH_WORDS:
            continue
        if _last_word(text, start) in _BEFORE_PLACE:
            yield start, end, ValueType.PLACE
        if several or not german:
            yield start, end, ValueType.NAME
            yield start, end, ValueType.PLACE
    ascii_only = text.isascii()
    if not ascii_only:
        yield from ((*match.span(), ValueType.NAME) for match in _HONOURED.finditer(text))
    for match in _find_cities(text):
        start, end = match.span()
        city = text[start:end]
        small = city.islower() and city.isascii()
        if not small or (city != "nice" and _last_word(text, start) in _BEFORE_PLACE):
            yield start, end, ValueType.PLACE
    if not ascii_only:
        for match in _CITY_IN_SCRIPT.finditer(text):
            start, end = match.span()
            beside = text[start - 1 : start] + text[end : end + 1]
            if _IDEOGRAPH.match(match[0]) or not _LETTER.search(beside):
                yield start, end, ValueType.PLACE


def _find_cities(text: str) -> Iterator[re.Match[str]]:
    if not text.isascii():
        return _KNOWN_CITY.finditer(text)
    return _KNOWN_CITY_IN_LOWER_CASE.finditer(text.lower()) if _CITY.may_stand_in(text) else iter(())


_COMMANDS = frozenset(
    """
    Add Ask Assign Call Compare Contact Email Find Invite List Message Notify Pay Phone Play Remind Show Tell
    Text
    """.split()
)
"""Verbs that a sentence begins with, before a name."""


def _skip_command(text: str, match: re.Match[str]) -> int:
    """Where the name begins, behind a verb that a sentence begins with: `Text Sarah`."""
    start = match.start()
    first, _, rest = match[0].partition(" ")
    verb = rest and first in _COMMANDS and _begins_sentence(text, start)
    return start + len(first) + 1 if verb else start


def _begins_sentence(text: str, at: int) -> bool:
    """Whether a sentence begins there, or in front of the marks before it."""
    before = text[max(0, at - 8) : at].rstrip("\"'“¿¡(")
    bare = before.rstrip()
    return not before or (bare != before and (bare.endswith(_ENDS) or "\n" in before[len(bare) :]))


_ENDS = (".", "!", "?", ":", ";")


def _last_word(text: str, at: int) -> str:
    words = _WORD.findall(text, max(0, at - 16), at)
    return words[-1].lower() if words else ""


_WORD = re.compile(r"[^\W\d_]+")
_LETTER = re.compile(r"[^\W_]")
_IDEOGRAPH = re.compile(r"[\u3400-\u9fff]")
