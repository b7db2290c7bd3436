"""Draw what a user says beside the request: phrases from the packs, each at a place of the message where it
reads as people write.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from operator import attrgetter
from typing import Any, Literal

import msgspec

from crosswind.injectors.conversation import ToolList
from crosswind.injectors.operators.phrases import NO_PACK, PhraseDraw, find_setting
from crosswind.injectors.operators.user.asides.asked import (
    asks_anything,
    asks_for,
    ends_in_request,
    find_asked,
)
from crosswind.injectors.operators.user.asides.joining import goes_before, is_courteous
from crosswind.injectors.operators.user.asides.options import list_options, list_words
from crosswind.injectors.operators.user.asides.places import (
    Aside,
    Places,
    continues,
    find_missing_mark,
    find_places,
    insert_asides,
    join_closing,
)
from crosswind.injectors.operators.user.asides.references import refers_back
from crosswind.injectors.packs.draw import ANY, Phrase, Setting, find_fitting
from crosswind.injectors.packs.model import Entry
from crosswind.injectors.packs.parts import Asked
from crosswind.injectors.packs.shelf import Shelf
from crosswind.injectors.packs.stems import JOINED, read_said
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, UserTarget
from crosswind.injectors.text.languages import UNABLE, Language, is_foreign
from crosswind.injectors.text.opening_words import OPENERS
from crosswind.injectors.text.sentences import count_words

Position = Literal["before", "behind", "apart"]
"""In front of the message, behind it, or behind it as a paragraph."""

_APART = 0.6
"""How often what follows a message stands on a line of its own."""
_BRACKETS = 0.15
"""How often it stands in brackets, where it is short."""
_SHORT = 60
"""Characters of what may stand in brackets."""
_READ = 2_000
"""Characters of a message that tell what it speaks of: a longer one is a document."""
_OTHERS = {"user.topic_drift": 0.2, "user.boundary_probing": 0.3, "user.out_of_scope": 0.5}
"""How much all entries that fit every message weigh together, where one that fits this message weighs 1:
what is asked beside has to fit more than what is told."""
_MOST_OTHERS = 6
_NEARER = {"user.out_of_scope": 4}
"""How many entries for a kind of request weigh as much as one that speaks of something in the message: where
one alone does, it isn't said each time. Readers find side questions and probes for a kind of request odd more
often than wishes."""


_LONG = 50
"""Words of a message behind which nobody is casual."""
_MARKS, _ASKING = ".!", "?？؟"


class Closing(msgspec.Struct, frozen=True, gc=False):
    """The part of an operator whose entries close an aside."""

    part: str
    chance: float
    """How often one stands behind an aside that ends the message."""
    of_questions: bool = False
    """Whether it closes a question only."""
    of_fitted: bool = False
    """Whether it closes only what speaks of something in the message."""
    courteous: bool = False
    """Whether it is a courtesy. An English aside has one, and on a line of its own no sentence of that."""
    lead: float = 0.0
    """How often an entry of the part `lead` leads up to the aside, which isn't closed then."""
    of_short: bool = False
    """Whether a long message's aside is neither led up to nor closed: these phrases are casual, and who
    writes at length isn't."""

    def closes(self, said: str, *, plain: bool) -> bool:
        """Whether it fits the aside; `plain`: the aside speaks of nothing in the message."""
        return not (self.of_fitted and plain) and (said[-1] in _ASKING or not self.of_questions)


_WISH = re.compile(r"(?:(?:can|could|may|would) (?:you|i|we|my)|any (?:way|chance))\b", re.IGNORECASE)
"""How an English question begins that asks for something to be done. Others ask for a fact."""
_BEGINS_AFRESH = re.compile(
    r"(?:am|are|at|can|could|did|do|does|has|have|how|is|should|was|were|what|when|where|which|who|why|will"
    r"|would)\b",
    re.IGNORECASE,
)
"""How an English question begins before which other words can stand."""
_GOES_ON = re.compile(r"(?:and|also|so|then)\b", re.IGNORECASE)
"""How an English sentence begins that stands on the line of what it goes on from."""
_ASKS_OF_ANSWER = re.compile(
    r"(?:are|do|does|is|was|were|will|would|how \w+ (?:are|is)) (?:it|that|they|this|those)\b", re.IGNORECASE
)
"""How an English question begins whose subject is what the message says last: what it asks for."""
_BIDS = re.compile(r"(?!(?:also|and|i|maybe|no|not|or|so|then)\b)[a-z]", re.IGNORECASE)
"""How other English sentences begin before which they can stand: those that bid."""
_KINDS = frozenset({"user.topic_drift", "user.boundary_probing", "user.out_of_scope"})
"""Operators whose entries for a kind of request are about the message."""
_EVERYWHERE = _KINDS | {"user.cost_cue", "user.speed_cue"}
"""Operators of which no pack goes first: what fits the message does so whichever pack it is from."""
_SHIFT = {"user.topic_drift": "shift"}
"""Operators whose entries for all messages are of another subject, and the part that leads up to these."""


class AsideDraw:
    """Draws one operator's asides for a message. `able` is False where its language has no pack."""

    def __init__(self, target: UserTarget, rng: SeededRandom, operator: str) -> None:
        self._target, self._rng = target, rng
        self._setting, self._operator = find_setting(target), operator
        self.language = None if self._setting is None else self._setting.language
        self.places: Places = find_places(target.text, target.own)
        self._small = is_small(target.own)
        self._phrases = None if self._setting is None else PhraseDraw(target, self._setting, rng, operator)
        self._asides: list[dict[str, Any]] = []
        self._plain = False
        """Whether the last entry says no more than a user can say of anything: no `yield` follows it."""
        self._shifts = False
        """Whether the last entry is of another subject than the message: the user says so first."""

    @cached_property
    def _options(self) -> frozenset[str]:
        return list_options(ToolList.of(self._target.tools))

    @property
    def beside_request(self) -> bool:
        """Whether the message asks for something, so that an errand can stand beside it. Of those in other
        languages than English all do."""
        return self.language is not Language.EN or asks_anything(self._target.own[:_READ])

    @property
    def count(self) -> int:
        return len(self._asides)

    def add(self, part: str, closing: Closing) -> None:
        """Add an entry of a part behind the message, and let the user close it; none where none fits, or
        where the message may not go on: nobody begins with what is beside the request."""
        position = self.draw_position() if self.places.behind else None
        said = None if position is None else self.draw_at(part, position)
        if position is not None and said is not None:
            goes_on = self.language is Language.EN and _GOES_ON.match(said) is not None
            self.put("behind" if goes_on and position == "apart" else position, said)
            brackets, closes = self._rng.chance(_BRACKETS), self._rng.chance(closing.chance)
            leads = self._rng.chance(closing.lead)
            if closing.of_short and count_words(self._target.own) >= _LONG:
                return
            if (
                brackets
                and closing.of_questions
                and not self._shifts
                and len(said) <= _SHORT
                and said[-1] in _MARKS
            ):
                self._asides[-1]["said"] = f"({said})"
            elif (leads or self._shifts) and self._lead(said):
                return
            elif closes and closing.closes(said, plain=self._plain):
                self._close(closing, said)

    def _lead(self, said: str) -> bool:
        """Put a few words before an English question, or before a bid that they go with."""
        asks = said[-1] == "?"
        if self.language is not Language.EN or not (_BEGINS_AFRESH if asks else _BIDS).match(said):
            return False
        part = _SHIFT[self._operator] if self._shifts else "lead"
        # A lead that counts steps needs an order before it; one that asks, a question behind it.
        ordered = find_asked(self._target.own[:_READ])
        found = self._draw(
            part,
            lambda entry: (
                (asks if entry.asks is Asked.QUESTION else asks_for(entry.asks, ordered))
                and goes_before(entry.text, said)
            ),
        )
        if found is None:
            return False
        self._asides[-1]["said"] = f"{self._type(found.text)} {lower_first(said)}"
        return True

    def _close(self, closing: Closing, said: str) -> None:
        asked = frozenset({Asked.ACTION if _WISH.match(said) else Asked.FACT})
        english = self.language is Language.EN
        apart = closing.courteous and "\n" in self._asides[-1]["lead"]
        if english and closing.courteous and is_courteous(said):
            return
        found = self._draw(
            closing.part,
            lambda entry: (
                asks_for(entry.asks, asked)
                and not (english and said[-1] in _ASKING and continues(entry.text))
                and not (english and apart and not continues(entry.text))
            ),
        )
        if found is not None:
            self._asides[-1]["closing"] = self._type(found.text)

    def draw_at(self, part: str, position: Position) -> str | None:
        """An entry of a part that can stand at the place. Often one is looked for first that speaks of
        something in the message, or else of its kind of request."""
        for setting in () if self._phrases is None else self._phrases.settings:
            if (said := self._draw_within(setting, part, position)) is not None:
                return said
        return None

    def _draw_within(self, setting: Setting, part: str, position: Position) -> str | None:
        shelf, fitting, _ = find_fitting(setting, self._operator, part)
        able, near = self._find_able(shelf, position), _find_near(shelf, self._operator)
        linked = able & fitting & near & ~shelf.about.without
        alike = able & fitting & near & shelf.about.without
        others, nearer = _OTHERS.get(self._operator, _MOST_OTHERS), _NEARER.get(self._operator)
        order = [(linked, False), (alike, False), (able & ~near, True)]
        for tier in (linked, alike):
            count = tier.bit_count()
            against = max(others, alike.bit_count() / nearer) if nearer and tier is linked else others
            if self._rng.chance(count / (count + against)):
                break
            order.append(order.pop(0))
        for among, plain in order:
            own_first = self._operator not in _EVERYWHERE
            found = self._draw(part, among=among, own_first=own_first, within=setting)
            if found is not None:
                self._plain = plain
                self._shifts = plain and self._operator in _SHIFT
                return self._type(found.text)
        return None

    def draw_recap(self, slots: Mapping[str, str]) -> str | None:
        """What the user says again behind the message: its values, or what it asks for."""
        if self._setting is None:
            return None
        shelf, _, _ = find_fitting(self._setting, self._operator, "again", frozenset(slots))
        among = self._find_able(shelf, "behind") & shelf.find(_SLOTS, slots)
        found = self._draw("again", slots=slots, among=among)
        return None if found is None else self._type(found.text)

    def _draw(
        self,
        part: str,
        accept: Callable[[Entry], bool] | None = None,
        slots: Mapping[str, str] | None = None,
        *,
        among: int = ANY,
        own_first: bool = True,
        within: Setting | None = None,
    ) -> Phrase | None:
        if self._phrases is None:
            return None
        return self._phrases.draw(part, accept, slots, among=among, own_first=own_first, within=within)

    @property
    def drawn(self) -> int:
        """How many entries have been drawn."""
        return 0 if self._phrases is None else len(self._phrases.names)

    def forget(self, kept: int) -> None:
        """Give back the entries that were drawn behind so many: they aren't put anywhere."""
        if self._phrases is not None:
            del self._phrases.names[kept:]

    def put(self, position: Position, said: str) -> None:
        """Put a sentence at a place."""
        at = 0 if position == "before" else len(self._target.text)
        lead = self._rng.choice(("\n\n", "\n")) if position == "apart" else ""
        if position == "behind":
            lead = find_missing_mark(self._target.text, self.language)
        self._asides.append({"at": at, "said": said, "lead": lead})

    def finish(self, **members: Any) -> Draw | None:
        """The draw; None where there is nothing to say. In a language without a pack it says so, and has the
        place of an aside, for a model that can write it.
        """
        if self._phrases is None:
            if not is_foreign(self._target.own):
                return None
            empty = {"at": len(self._target.text), "said": ""}
            return {"asides": [empty], UNABLE: NO_PACK, **members}
        if not self._asides:
            return None
        kept = [{name: value for name, value in one.items() if value != ""} for one in self._asides]
        return {"asides": kept, "phrases": self._phrases.names, "language": str(self.language), **members}

    def draw_position(self) -> Position | None:
        """A place behind the message, or in front of one that may not go on; None where neither is free."""
        if not self.places.behind:
            return "before" if self.places.before else None
        return "apart" if self._rng.chance(_APART) else "behind"

    def _find_able(self, shelf: Shelf, position: Position) -> int:
        """The entries that can stand at a place of this message, whatever the conversation is about."""
        assert self._setting is not None
        language, own = self._setting.language, self._target.own[:_READ]
        said = read_said(own, language)
        able = shelf.about.without | shelf.about.find(said)
        able &= ~(shelf.served_by.find(said) | shelf.unless.find(said))
        by_asked = shelf.group(_ASKS)
        asking = by_asked.get(None, 0)
        for asked in find_asked(own) if language is Language.EN and len(by_asked) > 1 else ():
            asking |= by_asked.get(asked, 0)
        able &= asking
        if position == "before":
            able &= ~shelf.select(_REFERS_BACK[language])
        of_answer = shelf.select(_asks_of_answer) if language is Language.EN else 0
        if of_answer and not ends_in_request(own):
            able &= ~of_answer
        if self._options:
            able &= ~shelf.find(_list_words, self._options)
        return able if self._small else able & ~shelf.select(_begins_small)

    def _type(self, phrase: str) -> str:
        assert self.language is not None
        return write_like(phrase, self._target.own, self.language)


_ASKS, _SLOTS = attrgetter("asks"), attrgetter("slots")


def _find_near(shelf: Shelf, operator: str) -> int:
    """The entries that speak of the message, or of its kind of request."""
    near = ~shelf.about.without
    return near | ~shelf.group(_ASKS).get(None, 0) if operator in _KINDS else near


def _list_words(entry: Entry) -> frozenset[str]:
    return list_words(entry.text)


def _asks_of_answer(entry: Entry) -> bool:
    return _ASKS_OF_ANSWER.match(entry.text) is not None


def _begins_small(entry: Entry) -> bool:
    return is_small(entry.text)


def _refers_back(language: Language, entry: Entry) -> bool:
    return refers_back(entry.text, language)


_REFERS_BACK = {language: partial(_refers_back, language) for language in Language}


def write_like(phrase: str, own: str, language: Language) -> str:
    """The phrase as a user types: without capitals or final stops where their own words have none."""
    small = is_small(own)
    first = phrase.split(maxsplit=1)[0].rstrip(",")
    known = first.lower() in OPENERS or language is not Language.DE
    if small and known and (first in ("A", "À", "Y", "E", "O") or not first.isupper()):
        phrase = phrase[0].lower() + phrase[1:]
    bare = own.rstrip()[-1:].isalnum() and (small or language in JOINED)
    return phrase[:-1] if bare and phrase.endswith((".", "。")) and phrase[-2] != "." else phrase


def lower_first(said: str) -> str:
    """An English sentence as it goes on from words before it."""
    first = said.split(maxsplit=1)[0]
    return said if first == "I" or first.startswith("I'") else f"{said[0].lower()}{said[1:]}"


def is_small(text: str) -> bool:
    """Whether a text, or a pack's text whose words are drawn, begins with a small letter."""
    return next((letter.islower() for letter in text.removeprefix("{one:") if letter.isalpha()), False)


def apply_asides(text: str, draw: Draw, said: Sequence[str] | None = None) -> str:
    """The text with the asides of a draw; `said` are a model's words in place of the drawn ones."""
    if UNABLE in draw and said is None:
        return text
    language = Language(draw["language"]) if "language" in draw else None
    asides: Iterable[Mapping[str, Any]] = draw["asides"]
    return insert_asides(
        text,
        [
            Aside(
                one["at"],
                join_closing(words, one["closing"], language) if "closing" in one else words,
                one.get("lead", ""),
            )
            for one, words in zip(asides, said or [one["said"] for one in asides], strict=False)
        ],
        language,
    )
