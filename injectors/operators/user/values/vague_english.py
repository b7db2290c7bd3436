"""Where vague words fit in an English sentence in place of a value: a whole phrase gives way to another."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from crosswind.injectors.operators.user.values.shortened import list_titles
from crosswind.injectors.operators.user.values.small_words import (
    DETERMINERS,
    GO_ON,
    make_words,
    qualifies,
)
from crosswind.injectors.operators.user.values.things import PERSONS
from crosswind.injectors.operators.user.values.vague_cities import NAME_GOES_ON, find_city, is_known
from crosswind.injectors.operators.user.values.vague_moments import find_date, find_time
from crosswind.injectors.operators.user.values.vague_place import (
    Place,
    close_aside,
    ends_clause,
    find_next_word,
    find_word_before,
    leave_out,
)
from crosswind.injectors.packs.model import Entry
from crosswind.injectors.text.languages import Language
from crosswind.injectors.values.coarse import list_coarse_forms, list_rounded, read_count
from crosswind.injectors.values.known_names import GIVEN_NAMES
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType

_UNITS = make_words(
    """
    bar celsius cm cups degrees dollars euros fahrenheit feet ft g gallons gb grams hp inches kg km kmh
    kph lbs liters litres meters metres miles mph ounces oz percent points pounds psi steps units watts
    """
)
"""What is measured rather than counted."""
_LIMITS = make_words("above at below beyond exceed least most over than to under up within between and")
"""Words behind which a number is a limit, or one end of a range."""
_SERIES = make_words("first last latest next past previous top")
_MAKERS = make_words("artist author owner player")
"""Persons who are asked for by name."""
_BEFORE_PERSON = make_words("ask assign call contact email invite message pay tell to with")
_SEEN = _BEFORE_PERSON | {"see"}
_TITLES = ("Dr", "Mr", "Mrs", "Ms", "Prof")
_BEFORE_OPTION = make_words("as for in on to using with")
_WISHES = make_words("able going have how like love need trying want wish")
"""Words behind which `to` stands before a verb."""
_ID_NOUNS = make_words(
    """
    account appointment booking card case claim contract customer delivery device employee flight friend
    invoice item job meeting order package parcel patient payment policy product project reservation
    post session shipment subscription task ticket transaction tweet user vehicle
    """
)
_BUDGET = re.compile(
    r"(?:\bfor )?\b(?:under|below|up to|at most|less than|no more than|not more than|cheaper than) $",
    re.IGNORECASE,
)
_COSTS = re.compile(r"(?:\b(?:is|are|be|was|were|costs?|priced|stays?|comes?)|['’]s|['’]re) $")
_PART_OF_DAY = re.compile(r" (?:morning|afternoon|evening|night)\b")
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
_IN_WORD = re.compile(r"[\w/_@#'’&-]")
_MANY = ("some", "a bunch of")
_MOST_FEW = 12
"""Numbers up to this are a few, or several."""
_YEARS = range(1900, 2101)
_SHORT_IDS = make_words("issue order post ticket tweet user")
_LONG_NUMBER = 4
"""Digits from which a number behind a noun is its id."""


def find_container(text: str, start: int, end: int) -> Place | None:
    """The place of a name before `folder`, `file` or their like, which is enough without it."""
    plain = find_next_word(text, end)
    before, several = find_word_before(text, start), _CONTAINERS.get(plain)
    if several is None or before not in ("the", "my", "our"):
        return None
    forms = tuple(f"one of {owner} {several}" for owner in dict.fromkeys((before, "my")))
    return Place(start - len(before) - 1, end + 1 + len(plain), None, forms=forms)


_CONTAINERS = {
    "directory": "directories",
    "file": "files",
    "folder": "folders",
    "repo": "repos",
    "repository": "repositories",
    "table": "tables",
}


def find_place(text: str, one: Mention) -> Place | None:
    """The place of a value; None where no vague words fit."""
    start, end = one.start, one.end
    if one.type is ValueType.DATE and (part := _PART_OF_DAY.match(text, end)) is not None:
        end = part.end()
    if re.match(r"['’]s\b|[-/_@'’]\w|\w|%", text[end : end + 3]) or _IN_WORD.match(text[:start][-1:]):
        return None
    find = _FINDERS.get(one.type)
    if one.type is ValueType.PLACE and _is_person(one):
        find = _find_name
    elif one.type is ValueType.NAME and (is_known(one.text)):
        find = find_city
    place = None if find is None else find(text, one, start, end, find_word_before(text, start))
    if place is None or place.accept is None:
        return place
    join, stop = place.join, place.end
    return place.with_join(lambda phrase, coarse: close_aside(_agree(join(phrase, coarse)), text, stop))


def _agree(phrase: str) -> str:
    return re.sub(r"^a (?=[aeiou])", "an ", phrase)


def _find_number(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    value, after = read_count(one.text), find_next_word(text, end)
    if (value is not None and (value < 2 or value in _YEARS)) or _LISTED.match(text, end):
        return None
    if (
        one.text.isdecimal()
        and before in _ID_NOUNS
        and (len(one.text) >= _LONG_NUMBER or before in _SHORT_IDS)
    ):
        return _find_id(text, one, start, end, before)
    if before in _SERIES and qualifies(text, end):
        return Place(start, end, dropped="few")
    limit = before in _LIMITS and not (before in ("to", "at") and after in _UNITS)
    if not limit and after != "cm" and (after in _UNITS or one.text.endswith("%")):
        measured = qualifies(text, end + len(after) + 1) if after in _UNITS else qualifies(text, end)
        stop = end + 1 + len(after) if after in _UNITS else end
        forms = list_rounded(text[start:stop])
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
    if before in DETERMINERS:
        return None
    people = find_next_word(text, end) in _PEOPLE
    return Place(
        start,
        end,
        lambda entry: few and not (people and entry.text == "some"),
        forms=() if few else _list_counts(text, start, end),
    )


_PEOPLE = make_words("adults guests passengers people persons seats travelers travellers")


def _list_counts(text: str, start: int, end: int) -> tuple[str, ...]:
    one = Mention(start, end, text[start:end], ValueType.NUMBER, None)
    count = read_count(one.text)
    if count == 2:
        return ("a couple of", "two or three")
    few = tuple(form for form in list_coarse_forms(one, Language.EN) if form.startswith("a"))
    return few if count is None else (*few, "some", "a bunch of")


def _find_named_number(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    """`a height of 83`, which can be less exact."""
    forms = list_rounded(f"{one.text} x")
    noun = find_word_before(text, start - len("of ")) if before == "of" else ""
    if not forms or noun in _OPERANDS or noun not in (one.thing or "").split():
        return None
    return Place(start, end, None, forms=tuple(form.removesuffix(" x") for form in forms))


def _find_money(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    limit = _BUDGET.search(text, max(0, start - 24), start)
    after = find_next_word(text, end)
    if limit is not None:
        costs = _COSTS.search(text, max(0, limit.start() - 12), limit.start())
        return None if costs or qualifies(text, end) else Place(limit.start(), end, _is_budget)
    if (paid := _PAID.search(text[:start])) is not None and not qualifies(text, end):
        unit = one.text.rpartition(" ")[2]
        if paid[1].lower() in ("convert", "exchange"):
            return Place(start, end, None, forms=(f"some {unit}",)) if unit.islower() else None
        few = tuple(form for form in list_coarse_forms(one, Language.EN) if form.startswith("a few"))
        return Place(start, end, lambda entry: not (_is_budget(entry) or _has_coarse(entry)), forms=few)
    spoken = list_coarse_forms(one, Language.EN) if before in ("of", "is", "about") else ()
    if qualifies(text, end) or before == "about":
        return None
    return Place(start, end, None, forms=spoken) if spoken and after not in ("or", "and", "to") else None


_PAID = re.compile(
    r"\b(transfer|send|pay|withdraw|deposit|move|wire|lend|donate|convert|exchange)"
    r"(?: [A-Z]\w+| me| him| her){0,2} $",
    re.IGNORECASE,
)
"""What is done with money, before it."""


def _find_duration(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
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


def _find_id(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    """`order W1` becomes `one of my orders`, and `my order W1`, `my order`."""
    head = start
    if before in ("number", "id", "no", "reference") and text[head - 1 :][:1] == " ":
        head -= len(before) + 1
        before = find_word_before(text, head)
    if before not in _ID_NOUNS or qualifies(text, end):
        return None
    noun = head - len(before) - 1
    ahead = find_word_before(text, noun)
    if ahead in ("my", "our"):
        return Place(head - 1, end, dropped="")
    if ahead in ("the", "this", "that"):
        noun -= len(ahead) + 1
        ahead = find_word_before(text, noun)
    elif ahead in DETERMINERS or not (ahead == "" or text[noun - 1].isspace()):
        return None
    if ahead in ("book", "buy", "order", "reserve"):
        return None
    mine = before in _OWN_NOUNS
    single = ahead in ("is", "are", "was", "s", "for") or noun == 0 or before == "flight"

    def fits(entry: Entry) -> bool:
        several = entry.text.startswith("one of ")
        own = "my " in entry.text or "mine" in entry.text
        return _has_thing(entry) and own is mine and not (several and single)

    forms = (f"my {before}",) if mine else ()
    return Place(noun, end, fits, thing=before, forms=forms) if mine or not single else None


_OWN_NOUNS = make_words(
    """
    account appointment booking card case claim flight invoice order package parcel reservation
    subscription ticket
    """
)
"""What a user calls theirs, of which an id is told."""


def _find_name(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    """`Anna Lopez` becomes `Anna`, or `a friend`; a doctor, one of them."""
    called = set((one.thing or "").split())
    sure = one.text.startswith(_TITLES) or before == "pay" or not PERSONS.isdisjoint(called)
    ends = not (qualifies(text, end) or NAME_GOES_ON.match(text, end)) and text[start - 2].islower()
    if not (ends and _is_person(one)) or before not in (
        _BEFORE_PERSON if not sure else _BEFORE_PERSON | {"see"}
    ):
        return None
    if one.text.startswith("Dr"):
        return Place(start, end, None, forms=("a doctor", "one of the doctors"))
    if not _MAKERS.isdisjoint(called) or one.text.startswith(_TITLES):
        return None
    first, _, last = one.text.partition(" ")
    work = _WORK.search(text) is not None
    forms = (first,) if last and first in GIVEN_NAMES else ()
    return Place(
        start,
        end,
        lambda entry: not (_has_coarse(entry) or (work and "friend" in entry.text)),
        type=ValueType.NAME,
        forms=forms,
    )


_WORK = re.compile(r"\b(?:assign|bug|commit|issue|meeting|project|report|review|team|ticket)", re.IGNORECASE)
"""What nobody does with a friend."""


def _find_option(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    """`a cheap hotel` becomes `a hotel`, `the rear door` `one of the doors`; `in JSON format` goes."""
    after, thing = find_next_word(text, end), (one.thing or "").rpartition(" ")[2]
    if not thing or one.text.startswith(("with ", "without ")) or (one.text.endswith("ly") and not after):
        return None
    if qualifies(text, end):
        return _find_modifier(text, start, end, before, thing)
    stands = ends_clause(text, end) or after in ("and", "for", "from", "in", "on", "please", "with")
    head, found = start - len(before) - 1, before in ("in", "with") and stands
    return _leave_out_phrase(text, head, end, (start, end)) if found else None


def _find_modifier(text: str, start: int, end: int, before: str, thing: str) -> Place | None:
    """Of an option before a noun, which is enough without it."""
    after = find_next_word(text, end)
    head, stop = start - len(before) - 1, end + 1 + len(after)
    if before in ("in", "with") and after == thing:
        return _leave_out_phrase(text, head, stop, (start, stop))
    if after == thing:
        end, after = stop, find_next_word(text, stop)
    if not qualifies(text, end):
        return None
    if before in ("a", "an"):
        article = "an" if after[0] in "aeiou" else "a"
        article = article.title() if text[head].isupper() else article
        return Place(head, end + 1, dropped=f"{article} ", value=(start, end))
    stop = end + 1 + len(after)
    if before == "the" and _SINGULAR.fullmatch(after) and not qualifies(text, stop):
        return Place(head, stop, None, forms=(f"one of the {after}s",), value=(start, stop))
    several = after.endswith("s") and before not in ("", "of", "and", "or", "as", "by", "in", "to")
    fits = several or before in DETERMINERS - {"no", "the"}
    return Place(start, end + 1, dropped="", value=(start, end)) if fits and start else None


_SINGULAR = re.compile(r"[a-z]{2,}[a-rt-xz](?<!ch)(?<!sh)(?<!x)")
"""A noun that takes an s in the plural."""


def _leave_out_phrase(text: str, start: int, end: int, value: tuple[int, int]) -> Place | None:
    whole = leave_out(Place(start, end), text, GO_ON)
    if whole.dropped is None or whole.dropped_span is None:
        return None
    return Place(*whole.dropped_span, dropped=whole.dropped, value=value)


def _find_file(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    folder = re.search(r"\.\w{1,8}$", one.text) is None
    if "://" in one.text or qualifies(text, end):
        return None
    if before in ("file", "folder", "directory"):
        start -= len(before) + 1
        before = find_word_before(text, start)
    if before == "the":
        start -= len("the ")
    elif before in DETERMINERS or not before:
        return None
    forms = () if folder else tuple(list_titles(one.text))
    return Place(start, end, _has_thing, thing="folder" if folder else "file", forms=forms)


def _find_email(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    """`sarah@acme.com` becomes `Sarah`, or `a colleague`."""
    if before not in ("to", "email", "invite", "message", "with") or qualifies(text, end):
        return None
    first = re.split(r"[.@_\d]", one.text)[0].title()
    forms = (first,) if first in GIVEN_NAMES else ()
    return Place(start, end, lambda entry: "friend" not in entry.text, type=ValueType.NAME, forms=forms)


_FINDERS: Mapping[ValueType, Callable[[str, Mention, int, int, str], Place | None]] = {
    ValueType.DATE: find_date,
    ValueType.TIME: find_time,
    ValueType.NUMBER: _find_number,
    ValueType.MONEY: _find_money,
    ValueType.ID: _find_id,
    ValueType.PLACE: find_city,
    ValueType.NAME: _find_name,
    ValueType.DURATION: _find_duration,
    ValueType.OPTION: _find_option,
    ValueType.FILE: _find_file,
    ValueType.EMAIL: _find_email,
}


def _is_person(one: Mention) -> bool:
    titled = re.match(r"(?:Dr|Mr|Mrs|Ms|Prof)\b", one.text) is not None
    named = " " in one.text and not PERSONS.isdisjoint((one.thing or "").split())
    return titled or one.text.partition(" ")[0] in GIVEN_NAMES or (one.type is ValueType.NAME and named)


def _is_budget(entry: Entry) -> bool:
    return entry.text.startswith(("within", "at a", "for a", "for not"))


def _has_coarse(entry: Entry) -> bool:
    return "{coarse}" in entry.text


def _has_thing(entry: Entry) -> bool:
    return "{thing}" in entry.text
