"""What users call a value that they leave open."""

from __future__ import annotations

import re

from crosswind.injectors.operators.user.values.things import PERSONS
from crosswind.injectors.operators.user.values.vague.cities import CITY_NAMES
from crosswind.injectors.operators.user.values.vague.place import Place
from crosswind.injectors.operators.user.values.vague.things import is_person
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Half
from crosswind.injectors.text.word_lists import make_words
from crosswind.injectors.values.known_names import COUNTRIES
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType

_HOW_EXACT = {Half.TRAIN: ("exact ", "actual ", "", ""), Half.TEST: ("precise ", "")}
"""What is left open of a value that is told less exactly."""
_EXACT = tuple(word for words in _HOW_EXACT.values() for word in words if word)
NAME_OF = "name of the "
_MOST_WORDS = 3
_KINDS = {
    ValueType.DATE: make_words("date day deadline month year"),
    ValueType.TIME: make_words("time hour"),
    ValueType.MONEY: make_words("balance budget cost deposit fare fee price salary"),
    ValueType.PLACE: make_words(
        "address airport area city country county destination district place state station street town"
    ),
    ValueType.NAME: PERSONS
    | make_words(
        "album brand company contact director doctor hotel league make manufacturer model movie player"
        " restaurant song team theater theatre trainer venue"
    ),
}
"""The last words of parameters whose names say what they take as people would."""
_RECEIVERS = make_words(
    "assignee attendee beneficiary contact payee person receiver recipient sender user username"
)
"""Words of forms for somebody whose name a user tells."""
_CALLED_BY_NAME = _KINDS[ValueType.NAME] | make_words(
    "actor artist author character customer drug employee friend guest ingredient member owner patient stock"
)
"""What isn't told itself, but by its name: nobody gives the agent a film, or a player."""
_CALLED = {
    ValueType.DATE: "date",
    ValueType.TIME: "time",
    ValueType.MONEY: "amount",
    ValueType.NUMBER: "number",
    ValueType.PLACE: "place",
    ValueType.NAME: "name",
    ValueType.EMAIL: "address",
    ValueType.FILE: "file name",
    ValueType.DURATION: "length",
}
_PLAINLY = (ValueType.NUMBER, ValueType.MONEY)
"""What is called by its type where the sentence has no word for it: nobody says `the principal`."""
_SITES = {
    "place": ("place", "location"),
    "city": ("city", "town", "place", "location"),
}
"""What people call places."""
_UNIT = re.compile(r"\d[ -]?(second|minute|hour|day|night|week|month|year)s?\b")
_LEADS = make_words("from to new my the target input given current select preferred desired chosen favorite")
"""Words before the thing in a parameter's name."""
_SAID = {
    "origin": "departure city",
    "location": "place",
    "departure": "departure city",
    "arrival": "destination",
}
_PLAIN = make_words(
    """
    account address age airport amount angle artist author birthday book brand breed budget category city
    class color colour company cost country cuisine currency date dates day deadline deposit depth destination
    device diet dimensions distance dose drug duration fare fee flavor flavour game genre height hotel hour
    ingredient language length location medication mode model month movie museum name neighborhood number
    numbers payment percentage place player playlist price priority product quantity radius range rating
    recipe region restaurant room rooms salary school season shop size song speed sport station store street
    team temperature time times title topic town unit university values venue volume weight width year
    """
)
"""Nouns of parameters that users say, too. Others they only take up from what they have said themselves."""
_LED = make_words(
    """
    arrival birth booking card check-in delivery departure door end employee file flight folder hotel house
    invoice maximum order parcel passport phone pickup policy price return room shoe start starting street
    table ticket time tracking travel user vehicle
    """
)
"""Words before such a noun that users say with it: `departure city`."""
_PHRASES = frozenset({"payment method", "price range", "starting point", "time zone"})
_KIND_OF = "kind of "
_NUMBERED = make_words("friend patient employee user customer device vehicle")
_NAMED_SO = _LED | _NUMBERED | PERSONS | _PLAIN | make_words("actual exact full of other precise the")


def name_open(
    one: Mention, place: Place, *, text: str, coarse: bool, half: Half, rng: SeededRandom
) -> str | None:
    """What an English user who has written `text` calls the value, without an article: `exact date`, `order
    number`. None where nothing says it in a word of theirs."""
    thing = place.called or _name_by_type(one, place, text)
    if one.type is ValueType.PLACE and thing in ("city", "location", "place") and one.text in COUNTRIES:
        thing = "country"
    elif thing is not None and not coarse and not _names_another(text, one):
        thing = rng.choice(_SITES.get(thing, (thing,)))
    if thing in _RECEIVERS:
        thing = "name"
    elif thing in _CALLED_BY_NAME - {"name"}:
        thing = f"{NAME_OF}{thing}" if half is Half.TRAIN else f"{thing} name"
    counted = thing is not None and COUNTED.fullmatch(thing) is not None
    if thing is not None and not counted and one.type in _PLAINLY and not _is_said(thing, text):
        thing = _CALLED[one.type]
    if thing is None or not (counted or thing.startswith(NAME_OF) or _is_said(thing, text)):
        return None
    exact = rng.choice(_HOW_EXACT[half]) if coarse else ""
    return thing if thing.startswith("full ") else f"{exact}{thing}"


def _names_another(text: str, one: Mention) -> bool:
    """Whether another place stays, so that nobody says that the location is missing."""
    rest = text[: one.start] + text[one.end :]
    return any(found[0] in CITY_NAMES or found[0] in COUNTRIES for found in _CAPITALS.finditer(rest))


_CAPITALS = re.compile(r"[A-Z]\w+(?: [A-Z]\w+){0,2}")


def _is_said(thing: str, text: str) -> bool:
    """Whether a user calls something so, who has written this."""
    if thing in _PHRASES or thing.startswith(_KIND_OF):
        return True
    own = frozenset(re.findall(r"[a-z-]+", text.lower()))
    *leads, head = thing.replace("'s", "").split()
    return head in _PLAIN | own | {"ID"} and all(one in _NAMED_SO or one in own for one in leads)


def _name_by_type(one: Mention, place: Place, text: str) -> str | None:
    if one.type is ValueType.ID or (place.thing and place.withholds and one.type is ValueType.NUMBER):
        if place.thing is None and (one.thing or "").endswith(("number", "code", "reference", "key")):
            return one.thing
        noun = place.thing or "reference"
        return f"{noun} ID" if noun in _NUMBERED else f"{noun} number"
    if one.type is ValueType.DURATION and (unit := _UNIT.search(one.text)) is not None:
        return "duration" if unit[1] in ("second", "minute", "hour") else f"number of {unit[1]}s"
    kind = _kind_of(one, place)
    named = name_kind(kind, one.thing, text)
    if kind in (ValueType.NAME, ValueType.PLACE) and named is not None and _stands_named(text, one, named):
        return None
    return None if named == "name" and kind is ValueType.NAME and not is_person(one) else named


def _stands_named(text: str, one: Mention, noun: str) -> bool:
    """Whether another one of this noun is told by name, beside which nobody says that it is missing: `the
    album Kind of Blue by` somebody."""
    return re.search(rf"\b{noun} [A-Z]", text[: one.start] + text[one.end :]) is not None


def _kind_of(one: Mention, place: Place) -> ValueType:
    """What the value is: a person, where a place was asked for and words for a person stand there; and a
    stretch, where both ends of one are left open."""
    typed = one.type is ValueType.PLACE or place.type is ValueType.DURATION
    return (place.type or one.type) if typed else one.type


def name_kind(type: ValueType, thing: str | None, text: str) -> str | None:
    """What an English user who has written `text` calls a value of this type that a parameter takes, whose
    name says `thing`."""
    plain = _strip(thing)
    noun = "" if plain is None else plain.removesuffix(" type")
    if noun != plain and noun and _is_said(noun, text):
        plain = f"{_KIND_OF}{noun}"
    plain = plain if plain is not None and _is_said(plain, text) else None
    if type in _KINDS:
        fits = plain is not None and plain.rpartition(" ")[2] in _KINDS[type]
        return plain if fits else _CALLED[type]
    if type in (ValueType.NUMBER, ValueType.OPTION):
        return plain or _CALLED.get(type)
    return _CALLED.get(type)


def _strip(thing: str | None) -> str | None:
    """A parameter's thing as users say it; None where it is none of theirs."""
    words = (thing or "").split()
    while words and words[0] in _LEADS:
        words.pop(0)
    plain = " ".join(words)
    return (_SAID.get(plain, plain) or None) if len(words) <= _MOST_WORDS else None


def ask_which(one: Mention, place: Place, thing: str, rng: SeededRandom) -> str:
    """The same as the object of what the user says: `the date`, `which day`."""
    exact = next((word for word in _EXACT if thing.startswith(word)), "")
    asked = tuple(
        form.format(thing.removeprefix(exact).removeprefix(NAME_OF).removesuffix(" name"))
        for form in _ASKED.get(_kind_of(one, place), ())
    )
    if thing in ("name", "full name"):
        asked = ("who exactly",) if is_person(one) else ()
    elif thing.startswith(_KIND_OF):
        asked = (f"which {thing}", f"what {thing}")
    elif thing.endswith(("name", "number", "s")):
        asked = ()
    elif one.type is ValueType.OPTION and thing.startswith("exact "):
        return f"which {thing.removeprefix('exact ')}"
    counted = COUNTED.fullmatch(thing)
    if counted is not None:
        asked = (f"how many {counted[1]}",)
    if exact == "exact ":
        asked = tuple(one if one.endswith("exactly") else f"{one} exactly" for one in asked)
    elif exact:
        asked = ()
    return rng.choice(asked) if asked and rng.chance(_AS_QUESTION) else f"the {thing}"


_AS_QUESTION = 0.7
COUNTED = re.compile(r"(?:exact |actual |precise )?number of ([a-z]+)")
_ASKED = {
    ValueType.DATE: ("what day", "which day", "when exactly"),
    ValueType.TIME: ("what time", "when exactly"),
    ValueType.PLACE: ("which {}",),
    ValueType.NAME: ("which {}",),
    ValueType.MONEY: ("how much",),
    ValueType.DURATION: ("how long exactly",),
    ValueType.OPTION: ("which {}",),
    ValueType.ID: ("which one", "which one exactly"),
    ValueType.FILE: ("which one",),
}
"""What an embedded question asks for, by the value's type."""
