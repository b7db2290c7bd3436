"""Where less exact words stand for a number, an amount of money or a time that lasts, in English."""

from __future__ import annotations

import re

from crosswind.injectors.operators.user.values.left_out import UNITS, is_needless
from crosswind.injectors.operators.user.values.small_words import DETERMINERS, make_words, qualifies
from crosswind.injectors.operators.user.values.vague_place import (
    Place,
    find_next_word,
    find_word_before,
    leave_out,
)
from crosswind.injectors.operators.user.values.vague_things import find_id, is_numbered
from crosswind.injectors.packs.model import Entry
from crosswind.injectors.text.languages import Language
from crosswind.injectors.values.coarse import list_coarse_forms, read_count
from crosswind.injectors.values.english_amounts import list_decades, list_rounded
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType

_LIMITS = make_words(
    "above at below beyond exactly exceed just least limit max maximum min minimum most only over than to"
    " under up within between and"
)
"""Words behind which a number is a limit, or one end of a range."""
_SERIES = make_words("first last latest next past previous top")
_BUDGET = re.compile(
    r"(?:\bfor )?\b(?:under|below|up to|at most|less than|no more than|not more than|cheaper than) $",
    re.IGNORECASE,
)
_COSTS = re.compile(r"(?:\b(?:is|are|be|was|were|costs?|priced|stays?|comes?)|['’]s|['’]re) $")
_COUNTED = re.compile(
    r" (?:(?:big|first|last|large|latest|medium|more|new|next|news|old|other|recent|small|top) ){0,2}"
    r"(?:[a-z]+(?<![su])s|people)\b(?! (?:old|each|per|away|later|ago)\b)"
)
_LISTED = re.compile(r"(?:, and|, or|,| and| or) \d")
"""Behind a number that is one of several."""
_OPERANDS = make_words(
    "average divisor factor factorial log mean median multiple power product root square sum"
)
"""What is worked out of exact numbers."""
_NUMBERED = re.compile(r"(?:page|step|room|gate|line|version|chapter|number|no|port|day|week|level|floor)$")
_MOST_FEW = 12
"""Numbers up to this are a few, or several."""
_YEARS = range(1900, 2101)


def find_number(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:  # noqa: PLR0911
    value, after = read_count(one.text), find_next_word(text, end)
    if value is not None and value in _YEARS and len(one.text) == _DIGITS_OF_YEAR:
        return find_year(text, value, start, end, before)
    if (value is not None and value < 2) or _LISTED.match(text, end):
        return None
    if is_numbered(text, one, before):
        return find_id(text, one, start, end, before)
    if before in _SERIES and qualifies(text, end):
        return Place(start, end, dropped="few")
    limit = before in _LIMITS and not (before in ("to", "at") and after in UNITS)
    if not limit and after != "cm" and (after in UNITS or one.text.endswith("%")):
        measured = qualifies(text, end + len(after) + 1) if after in UNITS else qualifies(text, end)
        stop = end + 1 + len(after) if after in UNITS else end
        forms = list_rounded(text[start:stop])
        if before in ("at", "by", "for", "in", "of", "to"):
            forms = tuple(form for form in forms if "between" not in form)
        return (
            Place(start, stop, None, forms=forms)
            if forms and not (measured or before in DETERMINERS)
            else None
        )
    if not limit and _COUNTED.match(text, end) is not None and not _NUMBERED.search(before):
        return _count(text, start, end, before, few=value is not None and 2 < value <= _MOST_FEW)
    return None if limit or qualifies(text, end) else _find_named_number(text, one, start, end, before)


def _count(text: str, start: int, end: int, before: str, *, few: bool) -> Place | None:
    """Of a number before what it counts."""
    if before in ("the", "my", "our"):
        return Place(start, end + 1, dropped="")
    if before in DETERMINERS | {"of"}:
        return _find_group(text, start, end) if before == "of" else None
    people = find_next_word(text, end) in _PEOPLE
    return Place(
        start,
        end,
        lambda entry: few and not (people and entry.text == "some"),
        forms=() if few else _list_counts(text, start, end),
    )


def _find_group(text: str, start: int, end: int) -> Place | None:
    """`a family of four` is a family."""
    noun = find_word_before(text, start - len("of "))
    stop = end if not qualifies(text, end) else None
    if noun not in _GROUPS or stop is None:
        return None
    return Place(start - len(" of "), stop, dropped="", value=(start, end))


_GROUPS = make_words("crew family group party team")
_PEOPLE = make_words("adults guests passengers people persons seats travelers travellers")


def _list_counts(text: str, start: int, end: int) -> tuple[str, ...]:
    one = Mention(start, end, text[start:end], ValueType.NUMBER, None)
    count = read_count(one.text)
    if count == 2:
        return ("a couple of", "two or three")
    few = list_coarse_forms(one, Language.EN)
    return few if count is None or find_next_word(text, end) in _PEOPLE else (*few, "some")


def _find_named_number(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    """`a height of 83`, which can be less exact."""
    forms = list_rounded(f"{one.text} x")
    noun = find_word_before(text, start - len("of ")) if before == "of" else ""
    if not forms or noun in _OPERANDS or noun not in (one.thing or "").split():
        return None
    return Place(start, end, None, forms=tuple(form.removesuffix(" x") for form in forms))


def find_money(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    limit = _BUDGET.search(text, max(0, start - 24), start)
    after = find_next_word(text, end)
    if limit is not None:
        costs = _COSTS.search(text, max(0, limit.start() - 12), limit.start())
        return None if costs or qualifies(text, end) else Place(limit.start(), end, _is_budget)
    if (paid := _PAID.search(text[:start])) is not None and not qualifies(text, end):
        unit = one.text.rpartition(" ")[2]
        if paid[1].lower() in ("convert", "exchange"):
            return Place(start, end, None, forms=(f"some {unit}",)) if unit.islower() else None
        few = list_coarse_forms(one, Language.EN)
        return Place(start, end, lambda entry: not (_is_budget(entry) or _has_coarse(entry)), forms=few)
    if qualifies(text, end) or before in _LIMITS | _HEDGES | DETERMINERS or after in _EACH:
        return None
    spoken = list_coarse_forms(one, Language.EN)
    return Place(start, end, None, forms=spoken) if spoken else None


_HEDGES = make_words("about approximately around by hit hits nearly passes per reaches roughly")
_EACH = make_words("a an and each less more off or per to")
_DIGITS_OF_YEAR = 4


def find_year(text: str, value: int, start: int, end: int, before: str) -> Place | None:
    """`in 1985` becomes `in the mid-1980s`."""
    if before not in ("in", "from", "during", "since") or qualifies(text, end) or _RANGED.match(text, end):
        return None
    dated = re.search(r"\d(?:st|nd|rd|th)? $|,$", text[: start - len(before) - 1]) is not None
    if dated or _DAY_BEFORE.search(text[: start - len(before) - 1]):
        return None
    place = Place(start, end, None, forms=list_decades(value))
    gone = leave_out(Place(start - len(before) - 1, end), text, frozenset()) if before != "since" else None
    needless = is_needless(text, start - len(before) - 1, end)
    return place.or_dropped(gone) if gone is not None and gone.dropped is not None and needless else place


_RANGED = re.compile(r" ?(?:to|and|or|until|till|through|-|–) ?(?:the )?\d")
_DAY_BEFORE = re.compile(
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December) ?$"
)
_PAID = re.compile(
    r"\b(transfer|send|pay|withdraw|deposit|move|wire|lend|donate|convert|exchange)"
    r"(?: [A-Z]\w+| me| him| her){0,2} $",
    re.IGNORECASE,
)
"""What is done with money, before it."""


def find_duration(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    if qualifies(text, end) or "-" in one.text:
        if before in ("a", "an") and find_next_word(text, end)[:1] not in (*"aeiou", ""):
            head = start - len(before) - 1
            return Place(head, end + 1, dropped="A " if text[head].isupper() else "a ")
        return None
    if before in _SERIES and (unit := one.text.rpartition(" ")[2]).endswith("s"):
        return Place(start, end, dropped=f"few {unit}")
    forms = list_coarse_forms(one, Language.EN)
    if not forms or before in _LIMITS - {"over"} | _SERIES | DETERMINERS | {"about", "around"}:
        return None
    return Place(start, end, None, forms=forms)


def _is_budget(entry: Entry) -> bool:
    return entry.text.startswith(("within", "at a", "for a", "for not"))


def _has_coarse(entry: Entry) -> bool:
    return "{coarse}" in entry.text
