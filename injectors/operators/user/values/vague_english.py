"""Where vague words fit in an English sentence in place of a value: a whole phrase gives way to another."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from crosswind.injectors.operators.user.values.shortened import list_titles, list_wider
from crosswind.injectors.operators.user.values.things import PERSONS
from crosswind.injectors.operators.user.values.vague_place import (
    Place,
    accept_all,
    close_aside,
    ends_clause,
    find_next_word,
    find_word_before,
    leave_out,
)
from crosswind.injectors.packs.model import Entry
from crosswind.injectors.text.languages import Language
from crosswind.injectors.values.calendar import month_of
from crosswind.injectors.values.coarse import is_whole, list_coarse_forms, read_count
from crosswind.injectors.values.known_names import CITIES, COUNTRIES, GIVEN_NAMES, GROUPS
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DETERMINERS = _words("a an the this that these those my our your his her their its any some each every no")
_GO_ON = _words(
    """
    about after again all along also am an and any are as at be because been before both but by can
    could did do does during each either for from had has have he her him his how i if in instead into
    is it its just keep later like make may maybe me might must my no not now of off on only onto or our
    out over per please put she should since so some such than thanks that the their them then there
    these they this those through till to today together tomorrow tonight too under until up using via
    was we were what when where which while who whose why will with within without would you your
    """
)
"""Words behind which a value ends its phrase: what stands before them qualifies no noun."""
_UNITS = _words(
    """
    bar celsius cm cups degrees dollars euros fahrenheit feet ft g gallons gb grams hp inches kg km kmh
    kph lbs liters litres meters metres miles mph ounces oz percent points pounds psi steps units watts
    """
)
"""What is measured rather than counted."""
_LIMITS = _words("above at below beyond exceed least most over than to under up within between and")
"""Words behind which a number is a limit, or one end of a range."""
_FROM = _words("after before by for from since starting till until")
_SERIES = _words("first last latest next past previous top")
_NO_MOMENTS = _words("and between is of or the to was")
_BEFORE_PLACE = _words("at for from in near to via")
_OF_NAME = _words("bank capital city county kingdom lake port republic state town university")
"""Nouns that make a name together with `of` and a place."""
_MAKERS = {"directed": "director", "written": "author", "painted": "painter", "composed": "composer"}
"""What somebody is called by whom something is directed, or written."""
_BEFORE_PERSON = _words("ask assign call contact email from invite message tell to with")
_MANY_OF_THEM = _words("customer guest member patient player sender user username")
"""Persons whom nobody calls the usual one."""
_TITLES = ("Dr", "Mr", "Mrs", "Ms", "Prof")
_BEFORE_OPTION = _words("as for in on to using with")
_WISHES = _words("able going have how like love need trying want wish")
"""Words behind which `to` stands before a verb."""
_ID_NOUNS = _words(
    """
    account appointment booking card case claim contract customer delivery device employee flight friend
    invoice item job meeting order package parcel patient payment policy product project reservation
    session shipment subscription task ticket transaction user vehicle
    """
)
_BUDGET = re.compile(
    r"(?:\bfor )?\b(?:under|below|up to|at most|less than|no more than|not more than|cheaper than) $",
    re.IGNORECASE,
)
_RANGE = re.compile(r" (?:to|until|till|through|and|or|-|–) (?:the )?(?:\d|[A-Z][a-z]{2,8} \d)")
"""Behind a day that begins a range."""
_COSTS = re.compile(r"(?:\b(?:is|are|be|was|were|costs?|priced|stays?|comes?)|['’]s|['’]re) $")
_PART_OF_DAY = re.compile(r" (?:morning|afternoon|evening|night)\b")
_COUNTED = re.compile(
    r" (?:(?:big|first|last|large|latest|medium|more|new|next|news|old|other|recent|small|top) ){0,2}"
    r"(?:[a-z]+(?<![su])s|people)\b(?! (?:old|each|per|away|later|ago)\b)"
)
_LISTED = re.compile(r"(?:, and|, or|,| and| or) \d")
"""Behind a number that is one of several."""
_OPERANDS = _words("average divisor factor factorial log mean median multiple power product root square sum")
"""What is worked out of exact numbers."""
_NUMBERED = re.compile(r"(?:page|step|room|gate|line|version|chapter|number|no|port|day|week|level|floor)$")
_REGION = re.compile(r"(?:, [A-Z][\w'-]*(?: [A-Z][\w'-]*){0,2})+(?![\w'-]| (?:and|or) [A-Z])")
_NAME_GOES_ON = re.compile(r" (?:(?:of|and|&) )?[A-Z\d]")
_IN_WORD = re.compile(r"[\w/_@#'’&-]")
_ADVERB = re.compile(
    r"(?:some ?(?:time|day)|at some point|one day|around|in|on|after|before|early (?:in|next)"
    r"|late (?:at|in|next)|first thing|mid-morning|at the|towards?|maybe|probably|perhaps|possibly"
    r"|most likely)\b"
)
_TOWARDS = re.compile(r"(?:at|around|towards) (?=the (?:end|middle) of )")
_CITIES = frozenset(city for cities in CITIES.values() for city in cities)
_NO_PLACES = frozenset(name for group in GROUPS for name in group)
_PLACE_NOUNS = _words("airport city country destination hotel place restaurant state station town location")
_MANY = ("some", "a bunch of")
_MOST_FEW = 12
"""Numbers up to this are a few, or several."""
_YEARS = range(1900, 2101)
_LONG_NUMBER = 4
"""Digits from which a number behind a noun is its id."""


def qualifies(text: str, end: int) -> bool:
    """Whether what ends there stands before a noun."""
    after = find_next_word(text, end)
    return after != "" and after[0].islower() and after not in _GO_ON


def is_small_word(word: str) -> bool:
    """Whether it is a determiner, a preposition or its like, behind which a new phrase begins."""
    return word in _DETERMINERS or word in _GO_ON


def find_container(text: str, start: int, end: int) -> Place | None:
    """The place of a name before `folder`, `file` or their like, which is enough without it."""
    plain = find_next_word(text, end)
    owned = find_word_before(text, start) in ("the", "this", "that", "my", "our")
    fits = plain in ("directory", "file", "folder", "repository", "table")
    return Place(start, end + 1, dropped="") if owned and fits else None


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
    elif one.type is ValueType.NAME and (one.text in _CITIES or one.text in COUNTRIES):
        find = _find_place
    place = None if find is None else find(text, one, start, end, find_word_before(text, start))
    if place is None or place.accept is None:
        return place
    join, stop = place.join, place.end
    return place.with_join(lambda phrase, coarse: close_aside(_agree(join(phrase, coarse)), text, stop))


def _agree(phrase: str) -> str:
    return re.sub(r"^a (?=[aeiou])", "an ", phrase)


def _find_date(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    if qualifies(text, end) or one.text.endswith(("month", "year", "quarter")) or month_of(one.text):
        return None
    if re.search(r"\bborn\b", text[:start]) is not None or _RANGE.match(text, end) is not None:
        return None
    if before == "the":
        start -= len("the ")
        before = find_word_before(text, start)
    if before == "on":
        start -= len("on ")
        return leave_out(Place(start, end, join=_join_date), text, _GO_ON)
    if before in _FROM:
        whole = [form for form in list_coarse_forms(one, Language.EN) if is_whole(form)]
        fits = all(_TOWARDS.match(form) for form in whole)
        return Place(start, end, _fits_behind, join=_join_behind) if fits else None
    if before[-1:].isdigit():
        return None  # The day of an hour: `at 6:45 tomorrow`.
    known = re.search(r"\d", one.text) is None or before.isalpha()
    return Place(start, end, join=_join_date) if known and before not in _NO_MOMENTS | _DETERMINERS else None


def _fits_behind(entry: Entry) -> bool:
    """Whether it stands behind `from`, `since` or `for`."""
    return re.match(r"sometime|around|the |my |\{coarse\}$", entry.text) is not None


def _join_behind(phrase: str, coarse: str | None) -> str:
    """`before Friday`, `before the end of the week`."""
    return _TOWARDS.sub("", phrase)


def _join_date(phrase: str, coarse: str | None) -> str:
    if _ADVERB.match(phrase):
        return phrase
    return f"in {phrase}" if coarse and phrase.startswith(coarse) else f"on {phrase}"


def _find_time(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    if qualifies(text, end) or before in _NO_MOMENTS | _FROM | _DETERMINERS | {"around", "about"}:
        return None
    if before == "at":
        start -= len("at ")
        return leave_out(Place(start, end, join=_join_time), text, _GO_ON)
    return Place(start, end, join=_join_time) if before and not is_small_word(before) else None


def _join_time(phrase: str, coarse: str | None) -> str:
    if _ADVERB.match(phrase):
        return phrase
    return f"in {phrase}" if coarse and phrase.startswith(coarse) else f"at {phrase}"


def _find_number(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    value, after = read_count(one.text), find_next_word(text, end)
    if (value is not None and (value < 2 or value in _YEARS)) or _LISTED.match(text, end):
        return None
    if one.text.isdecimal() and len(one.text) >= _LONG_NUMBER and before in _ID_NOUNS:
        return _find_id(text, one, start, end, before)
    if before in _SERIES and qualifies(text, end):
        return Place(start, end, dropped="few")
    limit = before in _LIMITS and not (before in ("to", "at") and after in _UNITS)
    if not limit and after != "cm" and (after in _UNITS or one.text.endswith("%")):
        measured = qualifies(text, end + len(after) + 1) if after in _UNITS else qualifies(text, end)
        return None if before in _DETERMINERS or measured else Place(start, end, _has_coarse)
    if not limit and _COUNTED.match(text, end) is not None and not _NUMBERED.search(before):
        return _count(start, end, before, few=value is not None and value <= _MOST_FEW)
    return None if limit or qualifies(text, end) else _find_named_number(text, one, start, end, before)


def _count(start: int, end: int, before: str, *, few: bool) -> Place | None:
    """Of a number before what it counts."""
    if before in ("the", "my", "our"):
        return Place(start, end + 1, dropped="")
    if before in _DETERMINERS:
        return None
    return Place(
        start, end, lambda entry: _has_coarse(entry) or (few and not _has_thing(entry)) or entry.text in _MANY
    )


def _find_named_number(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    """`a height of 10`, which can be less exact, and `height 10`, which gives way as a whole."""
    named = frozenset((one.thing or "").split())
    noun = find_word_before(text, start - len("of ")) if before == "of" else ""
    if noun in _OPERANDS:
        return None
    if noun in named or (len(noun) >= _LONG_NUMBER and noun.isalpha()):
        return Place(start, end, _has_coarse)
    head = start - len(before) - 1
    if before in named and before.isalpha() and find_word_before(text, head) not in _DETERMINERS:
        return Place(head, end, _has_thing, thing=before)
    return None


def _find_money(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    limit = _BUDGET.search(text, max(0, start - 24), start)
    after = find_next_word(text, end)
    if limit is not None:
        costs = _COSTS.search(text, max(0, limit.start() - 12), limit.start())
        return None if costs or qualifies(text, end) else Place(limit.start(), end, _is_budget)
    if after in ("each", "per", "apiece", "a", "an") or before in ("of", "at", "is"):
        return Place(start, end, _has_coarse)
    if qualifies(text, end) or before in _LIMITS - {"to"} | _DETERMINERS:
        return None
    return Place(start, end, lambda entry: not _is_budget(entry))


def _find_duration(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    if qualifies(text, end) or "-" in one.text:
        if before in ("a", "an") and find_next_word(text, end)[:1] not in (*"aeiou", ""):
            head = start - len(before) - 1
            return Place(head, end + 1, dropped="A " if text[head].isupper() else "a ")
        return None
    if before in _SERIES and (unit := one.text.rpartition(" ")[2]).endswith("s"):
        return Place(start, end, dropped=f"few {unit}")
    if before in _LIMITS - {"over"} | _SERIES | _DETERMINERS:
        return None
    return Place(start, end, _has_coarse)


def _find_id(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    """`order W1` becomes `the order I mentioned`, and `my order W1`, `my order`."""
    head = start
    if before in ("number", "id", "no", "reference") and text[head - 1 :][:1] == " ":
        head -= len(before) + 1
        before = find_word_before(text, head)
    if before not in _ID_NOUNS:
        return None
    noun = head - len(before) - 1
    ahead = find_word_before(text, noun)
    if ahead in _DETERMINERS:
        return Place(head - 1, end, dropped="") if ahead in ("my", "our", "the", "this", "that") else None
    whole = Place(noun, end, lambda entry: _has_thing(entry) and "usual" not in entry.text, thing=before)
    return whole.or_dropped(Place(noun, end, dropped=f"{'My' if noun == 0 else 'my'} {before}"))


def _find_place(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    named = [word for word in (one.thing or "").split() if word in _PLACE_NOUNS]
    address = one.text[0].isdigit() or "address" in (one.thing or "")
    known = one.text in _CITIES or one.text in COUNTRIES
    if one.text in _NO_PLACES and not known:
        return None
    going = before in ("from", "in", "near", "to")
    noun = find_word_before(text, start - len("of ")) if before == "of" and known else ""
    owned = noun != "" and noun not in _OF_NAME and text[start - len("of ") - len(noun) - 1].islower()
    if not owned and (before not in _BEFORE_PLACE or not (known or named or address or going)):
        return None
    if (region := _REGION.match(text, end)) is not None:
        end = region.end()
    if _NAME_GOES_ON.match(text, end) or qualifies(text, end):
        return None
    thing = "address" if address else "city" if one.text in _CITIES else named[-1] if named else "place"
    thing = "country" if one.text in COUNTRIES else "place" if thing == "location" else thing
    forms = () if region is not None else list_wider(text, one.text)
    return Place(start, end, thing=thing, type=ValueType.PLACE, forms=forms, value=(start, end))


def _find_name(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    maker = _MAKERS.get(find_word_before(text, start - len("by "))) if before == "by" else None
    if maker or not _is_person(one) or not before.isalpha() or before in _DETERMINERS:
        return None
    sure = one.text.startswith(_TITLES) or not PERSONS.isdisjoint((one.thing or "").split())
    if not sure and before not in _BEFORE_PERSON:
        return None
    if qualifies(text, end):
        return None
    if _NAME_GOES_ON.match(text, end) or not text[start - 2].islower():
        return None
    own = [word for word in (one.thing or "").split() if word in PERSONS - {"name", "username"}]
    thing = "doctor" if one.text.startswith("Dr") else own[-1] if own else "person"
    if thing in _MANY_OF_THEM:
        return None
    first, _, last = one.text.partition(" ")
    forms = (first,) if last and first in GIVEN_NAMES else ()
    fits = accept_all if thing != "person" else _is_of_person
    return Place(start, end, fits, thing=thing, type=ValueType.NAME, forms=forms)


def _is_of_person(entry: Entry) -> bool:
    """Whether it can be said of somebody of whom no more is known: nobody has a usual person."""
    return "usual" not in entry.text and "same" not in entry.text


def _find_option(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    after, thing = find_next_word(text, end), one.thing or ""
    if not thing or one.text.startswith(("with ", "without ")) or (one.text.endswith("ly") and not after):
        return None
    if qualifies(text, end):
        if before in ("a", "an"):
            head = start - len(before) - 1
            article = "an" if after[0] in "aeiou" else "a"
            return Place(head, end + 1, dropped=f"{article.title() if text[head].isupper() else article} ")
        if before in _BEFORE_OPTION | {"the"} and after == thing.rpartition(" ")[2]:
            head = start - len("the ") if before == "the" else start
            stop = end + 1 + len(after)
            whole = Place(head, stop, _has_thing, thing=thing, value=(start, stop))
            return _or_without(whole, text, before)
        return Place(start, end + 1, dropped="") if before in _DETERMINERS else None
    ahead = find_word_before(text, start - len(before) - 1)
    stands = ends_clause(text, end) or after in ("and", "for", "from", "in", "on", "please", "with")
    if before not in _BEFORE_OPTION or ahead in _WISHES or not stands or len(thing) < _LONG_NUMBER:
        return None
    return _or_without(Place(start, end, _has_thing, thing=thing), text, before)


def _or_without(place: Place, text: str, before: str) -> Place:
    """The place of an option behind a preposition, which can be left out with it."""
    if before not in ("in", "with"):
        return place
    whole = leave_out(Place(place.start - len(before) - 1, place.end), text, _GO_ON)
    return place if whole.dropped is None else place.or_dropped(whole)


def _find_file(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    folder = re.search(r"\.\w{1,8}$", one.text) is None
    if "://" in one.text or qualifies(text, end):
        return None
    if before in ("file", "folder", "directory"):
        start -= len(before) + 1
        before = find_word_before(text, start)
    if before == "the":
        start -= len("the ")
    elif before in _DETERMINERS or not before:
        return None
    forms = () if folder else tuple(list_titles(one.text))
    return Place(start, end, _has_thing, thing="folder" if folder else "file", forms=forms)


def _find_email(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    return Place(start, end, _has_thing, thing="address") if before in ("to", "at") else None


_FINDERS: Mapping[ValueType, Callable[[str, Mention, int, int, str], Place | None]] = {
    ValueType.DATE: _find_date,
    ValueType.TIME: _find_time,
    ValueType.NUMBER: _find_number,
    ValueType.MONEY: _find_money,
    ValueType.ID: _find_id,
    ValueType.PLACE: _find_place,
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
