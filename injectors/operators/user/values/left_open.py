"""What users call a value that they leave open, and where in the message they say that it is open."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from crosswind.injectors.operators.user.asides.asked import asks_for, find_asked
from crosswind.injectors.operators.user.asides.draw import is_small, write_like
from crosswind.injectors.operators.user.asides.places import find_missing_mark, find_places
from crosswind.injectors.operators.user.values.contradictions import join_sentence
from crosswind.injectors.operators.user.values.small_words import make_words, qualifies
from crosswind.injectors.operators.user.values.things import PERSONS
from crosswind.injectors.operators.user.values.vague.place import Place, ends_clause, find_next_word
from crosswind.injectors.operators.user.values.vague.things import is_person
from crosswind.injectors.packs.draw import Setting, draw_phrase
from crosswind.injectors.packs.model import Entry
from crosswind.injectors.packs.parts import Asked
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import UserTarget
from crosswind.injectors.text.edits import apply_edits, make_edit
from crosswind.injectors.text.languages import Language
from crosswind.injectors.values.known_names import COUNTRIES
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType

NAME = "user.ambiguous"
_WITHIN, _NOTES, _LACKS, _TAIL = 0.28, 0.65, 0.3, 0.3
"""How often the user says so in brackets behind the value, by a note of a few words, by what they haven't
got, and at the end of the last sentence."""
_BREAKS = ("", "", "\n", "\n\n")
"""What separates a sentence from the message before it; empty: what the text asks for."""
_HOW_EXACT = ("", "", "", "exact ", "precise ")
"""What is left open of a value that is told less exactly."""
_REST = "rest"
"""What is left open where nothing surely says what it is."""
_NAME_OF = "name of the "
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
_SITES = {
    "place": ("place", "location", "spot", "area"),
    "city": ("city", "city", "town", "location", "place"),
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
_NUMBERED = make_words("friend patient employee user customer device vehicle")


def name_open(one: Mention, place: Place, *, coarse: bool, rng: SeededRandom) -> str | None:
    """What an English user calls the value, without an article: `exact date`, `order number`. None where
    nothing says it."""
    thing = place.called or _name_by_type(one, place)
    thing = rng.choice(_SITES.get(thing, (thing,))) if thing is not None and not coarse else thing
    if one.type is ValueType.PLACE and thing == "city" and one.text in COUNTRIES:
        thing = "country"
    if thing in _RECEIVERS:
        thing = "name"
    elif thing in _CALLED_BY_NAME - {"name"}:
        thing = f"{_NAME_OF}{thing}"
    exact = rng.choice(_HOW_EXACT) if coarse and thing != _REST else ""
    return None if thing is None else f"{exact}{thing}"


def _name_by_type(one: Mention, place: Place) -> str | None:
    if one.type is ValueType.ID or (place.thing and place.withholds and one.type is ValueType.NUMBER):
        if place.thing is None and (one.thing or "").endswith(("number", "code", "reference", "key")):
            return one.thing
        noun = place.thing or "reference"
        return f"{noun} ID" if noun in _NUMBERED else f"{noun} number"
    if one.type is ValueType.DURATION and (unit := _UNIT.search(one.text)) is not None:
        return f"number of {unit[1]}s"
    kind = _kind_of(one, place)
    named = name_kind(kind, one.thing)
    return _REST if named == "name" and kind is ValueType.NAME and not is_person(one) else named


def _kind_of(one: Mention, place: Place) -> ValueType:
    """What the value is: a person, where a place was asked for and words for a person stand there; and a
    stretch, where both ends of one are left open."""
    typed = one.type is ValueType.PLACE or place.type is ValueType.DURATION
    return (place.type or one.type) if typed else one.type


def name_kind(type: ValueType, thing: str | None) -> str | None:
    """What an English user calls a value of this type that a parameter takes, whose name says `thing`."""
    plain = _strip(thing)
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
    if thing == _REST:
        return f"the {thing}"
    asked = tuple(
        form.format(thing.removeprefix("exact ").removeprefix("precise ").removeprefix(_NAME_OF))
        for form in _ASKED.get(_kind_of(one, place), ())
    )
    if thing == "name":
        asked = ("who", "who exactly") if is_person(one) else ()
    elif thing.endswith(("name", "number")):
        asked = ()
    elif one.type is ValueType.OPTION and thing.startswith("exact "):
        return f"which {thing.removeprefix('exact ')}"
    counted = _COUNTED.fullmatch(thing)
    if counted is not None:
        asked = (f"how many {counted[1]}",)
    return rng.choice(asked) if asked and rng.chance(_AS_QUESTION) else f"the {thing}"


_AS_QUESTION = 0.55
_COUNTED = re.compile(r"(?:exact |precise )?number of ([a-z]+)")
_ASKED = {
    ValueType.DATE: ("what day", "which day", "when exactly", "when"),
    ValueType.TIME: ("what time", "when exactly", "when"),
    ValueType.PLACE: ("which {}",),
    ValueType.NAME: ("which {}",),
    ValueType.MONEY: ("how much",),
    ValueType.OPTION: ("which {}",),
    ValueType.ID: ("which one", "which one exactly"),
    ValueType.FILE: ("which one",),
}
"""What an embedded question asks for, by the value's type."""


class Remark(msgspec.Struct, frozen=True, gc=False):
    """What the user says of a value that is left open: edits, of which one may be that of the value."""

    edits: list[dict[str, Any]]
    entry: str


def draw_remark(
    target: UserTarget,
    rng: SeededRandom,
    setting: Setting,
    edit: dict[str, Any],
    thing: tuple[str, str] | None,
    type: ValueType,
    *,
    vague: bool,
) -> Remark | None:
    """The value's edit with what says that it is left open; None where the message has no place for that.
    Beside `vague` words, as `a certain height`, the user knows the value and offers it."""
    text, places = target.text, find_places(target.text, target.own)
    english, stop = setting.language is Language.EN, edit["at"] + len(edit["was"])
    within, notes, lacks, tail = (
        english and not vague and rng.chance(one) for one in (_WITHIN, _NOTES, _LACKS, _TAIL)
    )
    asked = find_asked(target.own) if english and not vague else frozenset()
    draw = _Draw(target, rng, setting, thing, type, asked)
    beside = english and not vague and _goes_with_bracket(text, edit, stop)
    if beside and (within or not places.behind):
        # A noun is named in brackets only where no words for the value stand before them.
        named = not edit["now"].strip(" ")
        found = draw.draw(
            "within", lambda entry: entry.text.startswith("(") and named is bool(_NAMES.search(entry.text))
        )
        return None if found is None else Remark([{**edit, "now": f"{edit['now']} {found[0]}"}], found[1])
    if not places.behind:
        return None
    passed_on = _PASSED_ON.search(text, stop) is not None
    if tail and not passed_on and (end := _find_tail(text, stop)) is not None:
        found = draw.draw("within", lambda entry: not entry.text.startswith("("))
        return None if found is None else Remark([edit, make_edit(end, "", found[0])], found[1])
    found = draw.draw("note" if notes else "lack" if lacks else "offer")
    return None if found is None else Remark([edit, _append(target, rng, setting, edit, found[0])], found[1])


def _append(
    target: UserTarget, rng: SeededRandom, setting: Setting, edit: dict[str, Any], said: str
) -> dict[str, Any]:
    """A sentence behind the message."""
    text, apart = target.text, rng.choice(_BREAKS)
    missing = find_missing_mark(text, setting.language)
    if apart or missing:
        return make_edit(len(text), "", f"{apart or missing}{said}")
    return make_edit(len(text), "", join_sentence(apply_edits(text, [edit]), said, setting.language))


class _Draw(msgspec.Struct, frozen=True, gc=False):
    """Draws entries for one value."""

    target: UserTarget
    rng: SeededRandom
    setting: Setting
    thing: tuple[str, str] | None
    """What the value is called, and the same as an object; None in other languages."""
    type: ValueType
    asked: frozenset[Asked]
    """What an English message asks for: only in an action, the user decides on a value."""

    def draw(self, part: str, accept: Any = None) -> tuple[str, str] | None:
        slots = {} if self.thing is None else dict(zip(("thing", "which"), self.thing, strict=True))
        if self.type is ValueType.OPTION and slots.get("thing", "").startswith("exact "):
            del slots["thing"]  # Nobody tells `the exact door`.
        # Where nothing names the value, an entry for its type says what is left open.
        for typed in (True, False) if self.thing is None else (False,):
            found = draw_phrase(
                self.rng,
                self.setting,
                NAME,
                part,
                slots=slots,
                type=self.type,
                used=self.target.branch.phrases,
                accept=lambda entry, typed=typed: (  # type: ignore[misc]
                    (accept is None or accept(entry))
                    and (bool(entry.fits) or not typed)
                    and _fits(entry, self.thing)
                    and asks_for(entry.asks, self.asked)
                    and (part == "within" or is_small(self.target.own) or not is_small(entry.text))
                ),
            )
            if found is not None:
                break
        else:
            return None
        own, language = self.target.own, self.setting.language
        if part == "within":
            return found.text, found.entry
        said = found.text[:1].upper() + found.text[1:] if part == "note" else found.text
        return write_like(said, own, language), found.entry


def _fits(entry: Entry, thing: tuple[str, str] | None) -> bool:
    """Whether its article, or its question, goes with the thing."""
    if thing is None:
        return True
    asked = _QUESTION.search(entry.text) is not None and thing[0].startswith(_UNASKED)
    if thing[1].startswith(_BARE) and _ABOUT.search(entry.text):
        return False
    return not asked and not (_ARTICLE.search(entry.text) and thing[0].startswith(_NO_ARTICLE))


_QUESTION = re.compile(r"\b(?:just any|which|what)\}? \{thing\}", re.IGNORECASE)
_UNASKED = ("exact ", "precise ", "number ", "rest")
_BARE = ("who", "where", "when", "how")
_ABOUT = re.compile(r"\b(?:about|on|of|for)\}? \{which\}")
"""Questions of one word, and words that don't go before them: nobody says `more on who`."""
_NAMES = re.compile(r"\{(?:thing|which)\}")
_NO_ARTICLE = (*"aeiou", _NAME_OF)
_ARTICLE = re.compile(r"\ba \{thing\}")


def _goes_with_bracket(text: str, edit: dict[str, Any], stop: int) -> bool:
    """Whether a bracket can stand there: behind words for the value, or where a clause ends without it."""
    if edit["now"].strip(" "):
        if find_next_word(text, stop) == "of":
            return False
        return not edit["now"].endswith(" ") and not qualifies(text, stop) and text[stop : stop + 1] in _BREAK
    return edit["at"] > 0 and ends_clause(text, stop)


_PASSED_ON = re.compile(r"\b(?:reminding|saying|tell|telling|that)\b")
"""What somebody else is told, to which the end of the sentence would belong."""
_BREAK = ("", " ", ".", "!")


def _find_tail(text: str, stop: int) -> int | None:
    """Where the last sentence can go on, if the value is in it: at its end, before its full stop."""
    end = len(text) if text[-1:].isalpha() else len(text) - 1
    whole = end >= stop and _SENTENCE.search(text, stop, end) is None
    begin = max((found.end() for found in _SENTENCE.finditer(text, 0, stop)), default=0)
    whole = whole and len(text[begin:].split()) >= _LEAST_WORDS
    return end if whole and re.search(r"[A-Za-z]{3}\.?\Z", text) is not None else None


_LEAST_WORDS = 5
"""Words of a last sentence that surely has a verb."""
_SENTENCE = re.compile(r"[.!?;:\n]")
