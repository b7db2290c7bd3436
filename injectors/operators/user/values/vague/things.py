"""Where less exact words stand for a thing or a person: an id, a file, a name, an address of mail."""

from __future__ import annotations

import re

from crosswind.injectors.operators.user.requests.verbs import AMBIGUOUS, SURE
from crosswind.injectors.operators.user.values.shortened import list_titles
from crosswind.injectors.operators.user.values.small_words import DETERMINERS, is_small_word, qualifies
from crosswind.injectors.operators.user.values.things import PERSONS
from crosswind.injectors.operators.user.values.vague.cities import NAME_GOES_ON
from crosswind.injectors.operators.user.values.vague.place import (
    Place,
    find_next_word,
    find_word_before,
)
from crosswind.injectors.packs.model import Entry
from crosswind.injectors.text.word_lists import make_words
from crosswind.injectors.values.known_names import GIVEN_NAMES
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType

_MAKERS = make_words("artist author owner player")
"""Persons who are asked for by name."""
_BEFORE_PERSON = make_words(
    "ask assign call contact email for inform invite message notify pay phone ping remind tell text to with"
)
_TITLES = ("Dr", "Mr", "Mrs", "Ms", "Prof")
_ID_NOUNS = make_words(
    """
    account appointment booking card case claim contract customer delivery device employee flight friend
    invoice item job meeting order package parcel patient payment policy product project reservation
    post session shipment subscription task ticket transaction tweet user vehicle
    """
)
_SHORT_IDS = make_words("issue order post ticket tweet user")
_LONG_NUMBER = 4
"""Digits from which a number behind a noun is its id."""


def find_container(text: str, start: int, end: int) -> Place | None:
    """The place of a name before `folder`, `file` or their like, which is enough without it."""
    plain = find_next_word(text, end)
    before, several = find_word_before(text, start), _CONTAINERS.get(plain)
    if several is None or before not in ("the", "my", "our"):
        return None
    owners = dict.fromkeys((before, "my", "those"))
    forms = (*(f"one of {owner} {several}" for owner in owners), f"another {plain}")
    if find_word_before(text, start - len(before) - 1) not in ("into", "to"):
        forms = forms[:-1]
    called = plain if plain == "table" else f"{plain} name"
    stop = end + 1 + len(plain)
    return Place(start - len(before) - 1, stop, None, forms=forms, withholds=True, called=called)


_CONTAINERS = {
    "directory": "directories",
    "file": "files",
    "folder": "folders",
    "repo": "repos",
    "repository": "repositories",
    "table": "tables",
}


def find_id(  # noqa: PLR0911
    text: str, one: Mention, start: int, end: int, before: str
) -> Place | None:
    """`order W1` becomes `one of my orders`, and `my order W1`, `my order`."""
    head, labelled = start, None
    if before in ("number", "id", "no", "reference") and text[head - 1 :][:1] == " ":
        head -= len(before) + 1
        labelled = (head, end)
        before = find_word_before(text, head)
    if before not in _ID_NOUNS or (qualifies(text, end) and find_next_word(text, end) not in _HAPPENS):
        return None
    noun = head - len(before) - 1
    ahead = find_word_before(text, noun)
    if ahead in ("my", "our"):
        return Place(head - 1, end, dropped="", called=f"{before} number", value=labelled)
    if ahead in ("the", "this", "that"):
        noun -= len(ahead) + 1
        ahead = find_word_before(text, noun)
    elif ahead.isalpha() and not (is_small_word(ahead) or ahead in SURE | AMBIGUOUS):
        own = find_word_before(text, noun - len(ahead) - 1) in ("my", "our")
        return Place(head - 1, end, dropped="", called=f"{before} number", value=labelled) if own else None
    elif ahead in DETERMINERS or not (ahead == "" or text[noun - 1].isspace()):
        return None
    if ahead in ("book", "buy", "order", "reserve") or _NAMED_SO.search(text[:noun]):
        return None
    single = ahead in ("is", "are", "was", "s", "for", "with") or noun == 0 or before == "flight"
    if before not in _OWN_NOUNS:
        forms: tuple[str, ...] = (
            () if single else (f"one of the {before}s", f"one of our {before}s", f"one of those {before}s")
        )
    else:
        forms = (f"my {before}", *_MADE.get(before, ()))
        forms = forms if single else (*forms, f"one of my {before}s")
    after = find_next_word(text, end)
    forms = tuple(form for form in forms if not (after and form.endswith(" on")))
    if not forms:
        return None
    return Place(noun, end, None, thing=before, forms=forms, withholds=True, value=labelled)


_HAPPENS = make_words(
    "arrive arrives departs has hasn includes lands leaves never says ships shipped still went"
)
"""What is said of an order or a flight: no noun that its id stands before."""
_NAMED_SO = re.compile(r"\w [A-Z][\w&]* $")
"""A name before the noun, which it belongs to: `my UPS package`."""
_MADE = {
    **{
        noun: (f"the {noun} I made", f"that {noun} I made")
        for noun in ("booking", "reservation", "appointment")
    },
    "order": ("the order I placed", "that order I placed", "the order I made"),
    "parcel": ("the parcel I'm waiting for",),
    "package": ("the package I'm waiting for",),
    "claim": ("the claim I filed",),
    "flight": ("the flight I'm on",),
}
"""How users tell of theirs what they have done with it."""


def is_numbered(text: str, one: Mention, before: str) -> bool:
    """Whether a number is the id of the noun before it: `ticket 88`, `ticket number 4417`."""
    if not one.text.isdecimal():
        return False
    if before in ("number", "no", "id"):
        before = find_word_before(text, one.start - len(before) - 1)
    return before in _ID_NOUNS and (len(one.text) >= _LONG_NUMBER or before in _SHORT_IDS)


_OWN_NOUNS = make_words(
    """
    account appointment booking card case claim flight invoice order package parcel reservation
    subscription ticket
    """
)
"""What a user calls theirs, of which an id is told."""


def find_name(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    """`Anna Lopez` becomes `a friend`; a doctor, one of them."""
    called = set((one.thing or "").split())
    if _is_addressed(text, one, start, before):
        return Place(start, end, lambda entry: not _has_coarse(entry), type=ValueType.NAME, called="name")
    sure = one.text.startswith(_TITLES) or before == "pay" or not PERSONS.isdisjoint(called)
    ends = (
        find_next_word(text, end) not in ("and", "or")
        and not (qualifies(text, end) or NAME_GOES_ON.match(text, end))
        and text[start - 2].islower()
    )
    if not (ends and is_person(one)) or before not in (
        _BEFORE_PERSON if not sure else _BEFORE_PERSON | {"see"}
    ):
        return None
    if one.text.startswith("Dr"):
        return Place(start, end, None, forms=_DOCTORS, withholds=True, called="doctor's name")
    if _WORKS.search(text) or not (_MAKERS | _FAMOUS).isdisjoint(called) or one.text.startswith(_TITLES):
        return None
    work = _WORK.search(text) is not None
    given, _, family = one.text.partition(" ")
    return Place(
        start,
        end,
        lambda entry: not (_has_coarse(entry) or (work and "friend" in entry.text)),
        type=ValueType.NAME,
        forms=(given,) if family and given in GIVEN_NAMES else (),
        called="full name" if family and given in GIVEN_NAMES else None,
    )


_TOLD = make_words("tell ask text remind invite notify inform owe send give show let")
_WHAT_TO = make_words("a about for how if know my some that the this to when whether why")
_SENT_TO = re.compile(
    r"\b(?:e?mail|message|letter|note|invitation|dollars|euros|pounds|bucks|[$€£]\d[\d.,]*) to $"
)


def _is_addressed(text: str, one: Mention, start: int, before: str) -> bool:
    """Whether a single name is surely a person's, whom something is told, or sent."""
    if not one.text.isalpha() or NAME_GOES_ON.match(text, one.end):
        return False
    told = before in _TOLD and find_next_word(text, one.end) in _WHAT_TO
    sent = _SENT_TO.search(text, max(0, start - 24), start) is not None
    return told or (sent and not qualifies(text, one.end))


_DOCTORS = ("a doctor", "one of the doctors", "my doctor", "one of your doctors", "a doctor I've seen before")
_FAMOUS = make_words(
    "actor actress artist author celebrity character composer director player singer star writer"
)
"""Who is known by name, and nobody's friend."""
_WORKS = re.compile(
    r"(?i)\b(?:movies?|films?|songs?|albums?|tracks?|books?|novels?|shows?|directed|directors?|starring|cast)\b"
)
"""What a name beside is an artist's in, most often."""
_WORK = re.compile(r"\b(?:assign|bug|commit|issue|meeting|project|report|review|team|ticket)", re.IGNORECASE)
"""What nobody does with a friend."""


def find_file(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    folder = re.search(r"\.\w{1,8}$", one.text) is None
    if "://" in one.text or qualifies(text, end) or before == "as" or _INITIALS.fullmatch(one.text):
        return None
    if before in ("file", "folder", "directory"):
        start -= len(before) + 1
        before = find_word_before(text, start)
    if before == "the":
        start -= len("the ")
    elif before in DETERMINERS or not before:
        return None
    forms: tuple[str, ...] = () if folder else tuple(list_titles(one.text))
    noun = "folder" if folder else "file"
    if not forms:
        forms = (f"one of my {noun}s", f"one of those {noun}s", f"a {noun} of mine", f"that {noun} of mine")
        return Place(start, end, None, thing=noun, forms=forms, withholds=True, called=f"{noun} name")
    return Place(start, end, _has_thing, thing=noun, forms=forms, called="file name")


_INITIALS = re.compile(r"[A-Z]\.[A-Z]")
"""What is no file, though its end is one's: `Washington D.C.`"""


def find_email(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    """`sarah@acme.com` becomes `Sarah`, or `a colleague`."""
    if before not in ("to", "email", "invite", "message", "with"):
        return None
    if qualifies(text, end) and find_next_word(text, end) not in ("asking", "saying", "telling"):
        return None
    first = re.split(r"[.@_\d]", one.text)[0].title()
    forms = (first,) if first in GIVEN_NAMES else ()
    return Place(start, end, lambda entry: "friend" not in entry.text, type=ValueType.NAME, forms=forms)


def is_person(one: Mention) -> bool:
    if _COMPANY.search(one.text):
        return False
    titled = re.match(r"(?:Dr|Mr|Mrs|Ms|Prof)\b", one.text) is not None
    words = (one.thing or "").split()
    called = words[:-1] if len(words) > 1 and words[-1] == "name" else words
    named = " " in one.text and not PERSONS.isdisjoint(called)
    return titled or one.text.partition(" ")[0] in GIVEN_NAMES or (one.type is ValueType.NAME and named)


_COMPANY = re.compile(r"\b(?:Co|Corp|Company|GmbH|Group|Inc|LLC|Ltd)\b")


def _has_thing(entry: Entry) -> bool:
    return "{thing}" in entry.text


def _has_coarse(entry: Entry) -> bool:
    return "{coarse}" in entry.text
