"""Mentions: the values in a user's words that fill parameters of the declared tools.

A value is told by its form (a date, an amount, an id, a capitalised name) and by the tools: it is a mention
only where some parameter takes a value of its type. What stands in quotation marks, in code, or behind
`called` or `exactly` is a value, too; it is literal: a call needs it as it is.

Every scan is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec

from crosswind.injectors.conversation import ToolList
from crosswind.injectors.text.languages import Language, detect_language
from crosswind.injectors.text.quotations import find_literals, find_plain_names
from crosswind.injectors.values.calendar import MONTHS, NEAR_DAYS, WEEKDAYS
from crosswind.injectors.values.parameters import Parameter, ValueType, list_parameters

LONGEST = 16_384
"""Characters of the longest text in which values are looked for."""


class Mention(msgspec.Struct, frozen=True, gc=False):
    """A value where it stands in a text: text[start:end]."""

    start: int
    end: int
    text: str
    type: ValueType
    thing: str | None
    """What it is, in plain words and without an article: "departure date"."""
    options: tuple[str, ...] = ()
    """The parameter's enumerated values, where it is one of them."""
    literal: bool = False
    """Whether a call needs it as it is: a quotation, a command, a path, a name that was given."""


def find_mentions(text: str, tools: ToolList) -> tuple[Mention, ...]:
    """The values in the text, in order and apart. Pure; none where no tool asks for anything."""
    if len(text) > LONGEST:
        return ()
    parameters = list_parameters(tools)
    return _find_mentions(text, parameters) if parameters else ()


_NUMBER = r"\d+(?:[.,]\d+)*"
_NUMBER_WORDS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|fifty"
_MONTH = "|".join(
    sorted({re.escape(name) for names in MONTHS.values() for name in names}, key=len, reverse=True)
)
_MONTH = rf"(?:{_MONTH}|(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?)"
_NTH = r"\d{1,2}(?:st|nd|rd|th|er|º|\.)?"
_DAYS_IN_WORDS = "|".join(
    sorted(
        {re.escape(day) for table in (WEEKDAYS, NEAR_DAYS) for days in table.values() for day in days},
        key=len,
        reverse=True,
    )
)
_UNITS = (
    "seconds?|minutes?|mins?|hours?|hrs?|days?|nights?|weeks?|months?|years?|"
    "Sekunden?|Minuten?|Stunden?|Tage?n?|Nächte?n?|Wochen?|Monate?n?|Jahre?n?|"
    "segundos?|minutos?|horas?|días?|noches?|semanas?|meses|años?|"
    "secondes?|heures?|jours?|nuits?|semaines?|mois|ans?|années?"
)
_CURRENCIES = "USD|EUR|GBP|INR|JPY|CNY|dollars?|bucks|euros?|Euro|pounds?|rupees|yen|yuan|pesos?|francs?"
_FORMS: tuple[tuple[ValueType, str], ...] = (
    (ValueType.EMAIL, r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+"),
    (ValueType.FILE, r"(?:https?://|www\.)[^\s<>\"']+"),
    (
        ValueType.DATE,
        rf"\d{{4}}-\d\d-\d\d|\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}|(?:\d{{4}}年)?\d{{1,2}}月\d{{1,2}}[日号號]|"
        rf"\b{_MONTH} {_NTH}(?:,? \d{{4}})?|\b{_NTH} (?:of |de )?{_MONTH}(?:,? (?:de )?\d{{4}})?|"
        rf"(?:\bnext |\bthis |\blast )?\b(?:{_DAYS_IN_WORDS})(?!\w)|(?:今天|明天|后天|周[一二三四五六日])",
    ),
    (
        ValueType.TIME,
        r"(?:上午|下午|晚上)?\b\d{1,2}(?::\d\d){1,2}(?: ?[ap]\.?m\.?)?|"
        r"\b\d{1,2} ?(?:[ap]\.?m\b\.?|o'clock|Uhr)|\b\d{1,2}h(?:\d\d)?\b|"
        r"\b(?:noon|midnight)\b|(?:上午|下午|晚上)?\d{1,2}[点時时](?:半|\d{1,2}分)?",
    ),
    (
        ValueType.MONEY,
        rf"[$€£¥₹] ?{_NUMBER}|\b{_NUMBER} ?(?:[€£¥]|(?:{_CURRENCIES})\b)|\b(?:USD|EUR|GBP|INR) {_NUMBER}|"
        rf"{_NUMBER} ?[元円块]",
    ),
    (
        ValueType.DURATION,
        rf"\b(?:{_NUMBER}|an?|{_NUMBER_WORDS}|ein(?:e|en)?|zwei|drei|dos|tres|deux|trois)[ -](?:{_UNITS})\b|"
        r"\d+ ?(?:分钟|小时|天|周|个月|年|時間|分間|日間|週間)",
    ),
    (
        ValueType.FILE,
        r"(?:~|\.{1,2})?/[\w.~-]+(?:/[\w.~-]*)*|\b[A-Za-z]:\\[^\s]+|"
        r"(?<![\w-])[\w-]{1,80}\.(?:txt|md|py|js|ts|json|ya?ml|csv|tsv|xlsx?|docx?|pptx?|pdf|png|jpe?g|gif|svg|html?|css|sh|c|h|"
        r"cpp|java|go|rs|rb|sql|log|zip|tar|gz|toml|ini|cfg|xml|ipynb|mp[34]|wav)\b",
    ),
    (
        ValueType.ID,
        r"#[\w-]{0,40}\d[\w-]{0,40}|"
        r"(?<![\w-])(?=[\w-]{0,40}[A-Za-z])(?=[\w-]{0,40}\d)[A-Za-z0-9]{1,40}(?:[-_][A-Za-z0-9]{1,40}){0,8}(?![\w-])",
    ),
    (ValueType.NUMBER, rf"(?<![\w.]){_NUMBER}(?![\w%])|\b(?:{_NUMBER_WORDS})\b"),
)
_FORM = re.compile(
    "|".join(f"(?P<f{number}>{form})" for number, (_, form) in enumerate(_FORMS)),
    # Letters without spaces between them are no part of a value: `订单A20931`.
    re.IGNORECASE | re.ASCII,
)
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)")
_NAMED_RUN = re.compile(
    r"(?<![\w'’])[A-ZÀ-ÖØ-Þ][\w'’-]*[^\W\d_](?:[ -](?:(?:of|de|la|le|du|von|the|&) )?[A-ZÀ-ÖØ-Þ][\w'’-]*)*"
)
_SENTENCE_START = re.compile(r"(?:^|[.!?:;]\s+|\n\s*)[\"'“¿¡(]*$")
_BEFORE_PLACE = frozenset(
    """
    in to from near at around for towards via toward nach von aus bei en a hacia desde à de vers
    """.split()  # noqa: SIM905
)
_DIRECTIONS = {
    "from": ("origin", "from", "source", "departure", "start"),
    "to": ("destination", "to", "target", "arrival", "end"),
    "in": ("city", "location", "place"),
}
"""A preposition, and the words of parameters that what follows it fills."""
_COMPATIBLE: dict[ValueType, tuple[ValueType, ...]] = {
    ValueType.DATE: (ValueType.DATE, ValueType.TIME),
    ValueType.TIME: (ValueType.TIME, ValueType.DATE),
    ValueType.MONEY: (ValueType.MONEY, ValueType.NUMBER),
    ValueType.DURATION: (ValueType.DURATION, ValueType.NUMBER),
    ValueType.NUMBER: (ValueType.NUMBER, ValueType.DURATION, ValueType.MONEY),
    ValueType.EMAIL: (ValueType.EMAIL, ValueType.NAME, ValueType.ID),
    ValueType.FILE: (ValueType.FILE, ValueType.NAME),
    ValueType.ID: (ValueType.ID, ValueType.NAME),
    ValueType.PLACE: (ValueType.PLACE,),
    ValueType.NAME: (ValueType.NAME,),
}
"""The types of parameter that a form fills, the nearest first."""
_NEAR = 40
"""Characters before and behind a value in which a parameter's words name it."""
_WORD = re.compile(r"[^\W\d_]+")


@lru_cache(256)
def _find_mentions(text: str, parameters: tuple[Parameter, ...]) -> tuple[Mention, ...]:
    quoted, taken = bytearray(len(text)), bytearray(len(text))
    for start, end in (*((one.start, one.end) for one in find_literals(text)), *find_plain_names(text)):
        quoted[start:end] = b"\1" * (end - start)
    forms = (*_find_forms(text), *_find_names(text))
    candidates = [
        *((start, end, ValueType.OPTION, choices) for start, end, choices in _find_options(text, parameters)),
        *((start, end, kind, _fillable(kind, parameters)) for start, end, kind in forms),
    ]
    found: list[Mention] = []
    for start, end, kind, choices in candidates:
        if not choices or 1 in taken[start:end]:
            continue
        taken[start:end] = b"\1" * (end - start)
        chosen, named = _nearest(text, start, end, choices)
        thing = chosen.thing if named or chosen.type is kind else None
        options = chosen.options if kind is ValueType.OPTION else ()
        literal = kind is ValueType.FILE or 1 in quoted[start:end]
        found.append(Mention(start, end, text[start:end], kind, thing, options, literal))
    return tuple(sorted(found, key=lambda one: one.start))


def _fillable(kind: ValueType, parameters: Sequence[Parameter]) -> tuple[Parameter, ...]:
    """The parameters that a value of this type fills: those of the nearest type that there are any of."""
    for wanted in _COMPATIBLE.get(kind, (kind,)):
        if some := tuple(one for one in parameters if one.type is wanted):
            return some
    return ()


def _nearest(text: str, start: int, end: int, choices: Sequence[Parameter]) -> tuple[Parameter, bool]:
    """The parameter whose words stand around the value, or the first one; and whether any do."""
    before = [word.lower() for word in _WORD.findall(text[max(0, start - _NEAR) : start])]
    behind = [word.lower() for word in _WORD.findall(text[end : end + _NEAR])]
    around = {*before, *behind, *_DIRECTIONS.get(before[-1] if before else "", ())}
    around |= {word.removesuffix("s") for word in around}
    shared = [len(around.intersection(one.words)) for one in choices]
    return choices[shared.index(max(shared))], max(shared) > 0


def _find_options(
    text: str, parameters: Sequence[Parameter]
) -> Iterator[tuple[int, int, tuple[Parameter, ...]]]:
    """Enumerated values that the text names, by themselves or with spaces for underscores."""
    lowered = text.lower()
    spoken: dict[str, list[Parameter]] = {}
    for parameter in parameters:
        for option in parameter.options:
            for form in {option.lower(), option.lower().replace("_", " ").replace("-", " ")}:
                if len(form) > 1:
                    spoken.setdefault(form, []).append(parameter)
    for form in sorted(spoken, key=len, reverse=True):
        at = lowered.find(form)
        while at >= 0:
            end = at + len(form)
            if not lowered[at - 1 : at].isalnum() and not lowered[end : end + 1].isalnum():
                yield at, end, tuple(spoken[form])
            at = lowered.find(form, end)


def _find_forms(text: str) -> Iterator[tuple[int, int, ValueType]]:
    for match in _FORM.finditer(text):
        kind = _FORMS[int(str(match.lastgroup)[1:])][0]
        end = match.end() - (match[0][-1] in ".,")
        if not _ORDINAL.fullmatch(match[0]) and end > match.start():
            yield match.start(), end, kind


def _find_names(text: str) -> Iterator[tuple[int, int, ValueType]]:
    """Capitalised words that no sentence begins with: places behind a preposition of place, and names. In
    German a single one may be any noun.
    """
    nouns_are_small = detect_language(text) is not Language.DE
    for match in _NAMED_RUN.finditer(text):
        start, end = match.span()
        if match[0] == "I" or match[0].startswith(("I'", "I’")):
            continue
        several = " " in match[0]
        if not several and _SENTENCE_START.search(text[max(0, start - 8) : start]):
            continue
        before = _WORD.findall(text[max(0, start - 16) : start])
        place = bool(before) and before[-1].lower() in _BEFORE_PLACE
        if place:
            yield start, end, ValueType.PLACE
        if several or nouns_are_small:
            yield start, end, ValueType.NAME
            yield start, end, ValueType.PLACE
