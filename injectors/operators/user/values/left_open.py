"""What users call a value that they leave open, and where in the message they say that it is open."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from crosswind.injectors.operators.user.asides.asked import asks_for, find_asked
from crosswind.injectors.operators.user.asides.draw import is_small, write_like
from crosswind.injectors.operators.user.asides.places import find_missing_mark, find_places, join_sentence
from crosswind.injectors.operators.user.values.things import PERSONS
from crosswind.injectors.operators.user.values.vague.place import Place, ends_clause
from crosswind.injectors.operators.user.values.vague.things import is_person
from crosswind.injectors.packs.draw import Setting, draw_phrase
from crosswind.injectors.packs.model import Entry
from crosswind.injectors.packs.parts import Asked
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Half, UserTarget
from crosswind.injectors.text.edits import apply_edits, make_edit
from crosswind.injectors.text.languages import Language
from crosswind.injectors.text.word_lists import make_words
from crosswind.injectors.values.known_names import COUNTRIES
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType

NAME = "user.ambiguous"
_NAMED, _WITHIN, _NOTES, _LACKS, _TAIL = 0.85, 0.3, 0.45, 0.35, 0.25
"""How often the user names what is open; and of these, how often in brackets behind the value, as what is
still to be decided, as what they haven't got, and at the end of the last sentence."""
_BREAKS = ("", "", "", "\n", "\n\n")
"""What separates a sentence from the message before it; empty: what the text asks for."""
_HOW_EXACT = {Half.TRAIN: ("exact ",), Half.TEST: ("precise ",)}
"""What is left open of a value that is told less exactly."""
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
    "place": ("location",),
    "city": ("city", "city", "town", "location"),
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
    account address age airport amount angle artist author base birthday book bpm brand branch breed budget
    cabin city class coefficients color colour company compound cost country cuisine currency date dates day
    deadline deposit depth destination diet dimensions disease distance dose drug fare fee flavor flavour
    game genre grade height hotel hour humidity industry ingredient interest language league length level
    limit location make mass medication model month movie museum name neighborhood number numbers payment
    percentage point player playlist priority price product question quantity radius range rate rating recipe
    region restaurant room rooms salary school season series shape shop size song species speed sport start
    state station stock store street style subject team temperature theme time times timezone title topic town
    duration type unit units university value values venue volume wavelength weather weight width year zone
    """
)
"""Nouns of parameters that users say, too."""
_NUMBERED = make_words("friend patient employee user customer device vehicle")


def name_open(one: Mention, place: Place, *, coarse: bool, half: Half, rng: SeededRandom) -> str | None:
    """What an English user calls the value, without an article: `exact date`, `order number`. None where
    nothing says it in a word of theirs."""
    thing = place.called or _name_by_type(one, place)
    thing = rng.choice(_SITES.get(thing, (thing,))) if thing is not None and not coarse else thing
    if one.type is ValueType.PLACE and thing == "city" and one.text in COUNTRIES:
        thing = "country"
    if thing in _RECEIVERS:
        thing = "name"
    elif thing in _CALLED_BY_NAME - {"name"}:
        thing = f"{_NAME_OF}{thing}" if half is Half.TRAIN else f"{thing} name"
    counted = thing is not None and _COUNTED.fullmatch(thing) is not None
    if thing is None or not (counted or thing.rpartition(" ")[2] in _PLAIN | {"ID", "address"}):
        return None
    exact = rng.choice(_HOW_EXACT[half]) if coarse else ""
    return thing if thing.startswith("full ") else f"{exact}{thing}"


def _name_by_type(one: Mention, place: Place) -> str | None:
    if one.type is ValueType.ID or (place.thing and place.withholds and one.type is ValueType.NUMBER):
        if place.thing is None and (one.thing or "").endswith(("number", "code", "reference", "key")):
            return one.thing
        noun = place.thing or "reference"
        return f"{noun} ID" if noun in _NUMBERED else f"{noun} number"
    if one.type is ValueType.DURATION and (unit := _UNIT.search(one.text)) is not None:
        return "duration" if unit[1] in ("second", "minute", "hour") else f"number of {unit[1]}s"
    kind = _kind_of(one, place)
    named = name_kind(kind, one.thing)
    return None if named == "name" and kind is ValueType.NAME and not is_person(one) else named


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
    exact = next((word for word in ("exact ", "precise ") if thing.startswith(word)), "")
    asked = tuple(
        form.format(thing.removeprefix(exact).removeprefix(_NAME_OF).removesuffix(" name"))
        for form in _ASKED.get(_kind_of(one, place), ())
    )
    if thing in ("name", "full name"):
        asked = ("who exactly",) if is_person(one) else ()
    elif thing.endswith(("name", "number")):
        asked = ()
    elif one.type is ValueType.OPTION and thing.startswith("exact "):
        return f"which {thing.removeprefix('exact ')}"
    counted = _COUNTED.fullmatch(thing)
    if counted is not None:
        asked = (f"how many {counted[1]}",)
    if exact == "precise ":
        asked = ()
    elif exact:
        asked = tuple(one if one.endswith("exactly") else f"{one} exactly" for one in asked)
    return rng.choice(asked) if asked and rng.chance(_AS_QUESTION) else f"the {thing}"


_AS_QUESTION = 0.7
_COUNTED = re.compile(r"(?:exact |precise )?number of ([a-z]+)")
_ASKED = {
    ValueType.DATE: ("what day", "which day", "when exactly"),
    ValueType.TIME: ("what time", "when exactly"),
    ValueType.PLACE: ("which {}",),
    ValueType.NAME: ("which {}",),
    ValueType.MONEY: ("how much",),
    ValueType.DURATION: ("how long",),
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
    coarse: bool = False,
) -> Remark | None:
    """The value's edit with what says that something is left open; None where the message has no place for
    that. `thing` is what the user calls the value; without it, they say that something is open. Nothing is
    missing where it is told less exactly (`coarse`)."""
    text, english = target.text, setting.language is Language.EN
    if not find_places(text, target.own).behind:
        return None
    asked = find_asked(target.own) if english else frozenset()
    draw = _Draw(target, rng, setting, thing, type, asked, coarse)
    if english and (thing is None or not rng.chance(_NAMED)):
        found = draw.draw("offer", lambda entry: not _is_named(entry))
        return (
            None if found is None else Remark([edit, _append(target, rng, setting, edit, found[0])], found[1])
        )
    if english and (beside := _draw_within(draw, edit)) is not None:
        return beside
    parts = ["offer"]
    if english and Asked.ACTION in draw.asked and rng.chance(_NOTES) and not _SETTLED.search(text):
        parts.insert(0, "note")
    elif english and (Asked.ACTION in draw.asked or type in _KEPT) and rng.chance(_LACKS):
        parts.insert(0, "lack")
    for part in parts:
        found = draw.draw(part, _is_named if english else None)
        if found is not None:
            return Remark([edit, _append(target, rng, setting, edit, found[0])], found[1])
    return None


_KEPT = (ValueType.ID, ValueType.EMAIL, ValueType.FILE)
"""What people have written down somewhere."""
_SETTLED = re.compile(
    r"(?i)\b(?:block|booked|bought|cancel|delete|did|exchange|log|lost|missed|ordered|paid|purchased|ran|received|record|refund"
    r"|remove|return|track|used|was|were)\b"
)
"""What tells of a value that isn't to be decided any more."""


def _is_named(entry: Entry) -> bool:
    return _NAMES.search(entry.text) is not None


def _draw_within(draw: _Draw, edit: dict[str, Any]) -> Remark | None:
    """The value's edit with what stands in brackets behind it, or goes on with its sentence."""
    text, stop = draw.target.text, edit["at"] + len(edit["was"])
    if draw.rng.chance(_WITHIN) and edit["now"].strip() and ends_clause(text, stop):
        found = draw.draw("within", lambda entry: entry.text.startswith("("))
        return None if found is None else Remark([{**edit, "now": f"{edit['now']} {found[0]}"}], found[1])
    if not draw.rng.chance(_TAIL) or _PASSED_ON.search(text, stop) is not None:
        return None
    end = _find_tail(text, stop)
    if end is None:
        return None
    asks = text.endswith("?")
    found = draw.draw("within", lambda entry: entry.text.startswith("(") or not asks)
    if found is None:
        return None
    lead = " " if found[0].startswith("(") else ""
    return Remark([edit, make_edit(end, "", f"{lead}{found[0]}")], found[1])


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
    coarse: bool = False
    """Whether the value is told less exactly."""

    def draw(self, part: str, accept: Any = None) -> tuple[str, str] | None:
        slots = {} if self.thing is None else dict(zip(("thing", "which"), self.thing, strict=True))
        if self.type is ValueType.OPTION and slots.get("thing", "").startswith("exact "):
            del slots["thing"]  # Nobody tells `the exact door`.
        # Where nothing names the value, an entry for its type says what is left open.
        english = self.setting.language is Language.EN
        for typed in (True, False) if self.thing is None and not english else (False,):
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
                    and not (self.coarse and _MISSED.search(entry.text))
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
        capital = own[:1].isupper() and found.text[-1:] in ".?"
        said = found.text[:1].upper() + found.text[1:] if capital else found.text
        return write_like(said, own, language), found.entry


def _fits(entry: Entry, thing: tuple[str, str] | None) -> bool:
    """Whether its article, or its question, goes with the thing."""
    if thing is None:
        return True
    if thing[1].startswith(_BARE) and _ABOUT.search(entry.text):
        return False
    if thing[1].startswith("the ") and _QUESTION.search(entry.text):
        return False
    if thing[0].endswith("s") and _AGREES.search(entry.text):
        return False
    return not (_ARTICLE.search(entry.text) and thing[0].startswith(_NO_ARTICLE))


_MISSED = re.compile(
    r"(?i)\b(?:didn['’]t|escapes|find the|forgot|haven['’]t (?:said|thought)|isn['’]t in|left|missing|never"
    r"|out|skipped|slipped|not in|not everything|incomplete|one more|another detail)\b|thing\} \(?\{one:tbd"
)
"""What nobody says of a value that is told, though less exactly."""
_QUESTION = re.compile(r"\b(?:certain|idea|know|me|sure)\}? \{which\}")
"""What only a question follows: nobody writes `not sure the date`."""
_AGREES = re.compile(r"\{thing\} (?:\{one:)?(?:comes|escapes|follows|is|isn)\b")
"""A verb in the singular."""
_BARE = ("who", "where", "when", "how")
_ABOUT = re.compile(r"\b(?:about|on|of|for)\}? \{which\}")
"""Questions of one word, and words that don't go before them: nobody says `more on who`."""
_NAMES = re.compile(r"\{(?:thing|which)\}")
_NO_ARTICLE = (*"aeiou", _NAME_OF, "number of ")
_ARTICLE = re.compile(r"\ba \{thing\}")


_PASSED_ON = re.compile(r"\b(?:reminding|saying|tell|telling|that)\b")
"""What somebody else is told, to which the end of the sentence would belong."""


def _find_tail(text: str, stop: int) -> int | None:
    """Where the last sentence can go on, if the value is in it: at its end, before its mark."""
    end = len(text) if text[-1:].isalpha() else len(text) - 1
    whole = end >= stop and _SENTENCE.search(text, stop, end) is None
    begin = max((found.end() for found in _SENTENCE.finditer(text, 0, stop)), default=0)
    whole = whole and len(text[begin:].split()) >= _LEAST_WORDS
    return end if whole and re.search(r"[A-Za-z]{3}[.?]?\Z", text) is not None else None


_LEAST_WORDS = 5
"""Words of a last sentence that surely has a verb."""
_SENTENCE = re.compile(r"[.!?;:\n]")
