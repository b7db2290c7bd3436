"""The values of a message that can be contradicted: with which rivals, and where in the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from crosswind.injectors.conversation import ToolList
from crosswind.injectors.operators.user.asides.places import find_missing_mark, join_sentence
from crosswind.injectors.operators.user.values.rival_names import (
    find_article,
    find_noun_behind,
    find_region,
    find_span,
    name_both,
    name_option,
    shorten,
)
from crosswind.injectors.operators.user.values.rival_places import (
    goes_on,
    is_before_moment,
    is_behind_moment,
    is_within_phrase,
    may_stand_inside,
    stands_whole,
)
from crosswind.injectors.operators.user.values.slips import LONGEST_VALUE, draw_slip, is_said, list_known
from crosswind.injectors.operators.user.values.spoken_values import find_spoken
from crosswind.injectors.operators.user.values.sure_values import PLACES, PLURAL, SureValues
from crosswind.injectors.operators.user.values.vague.place import close_aside
from crosswind.injectors.packs.draw import Setting
from crosswind.injectors.packs.stems import JOINED
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import UserTarget
from crosswind.injectors.text.edits import make_edit, splits
from crosswind.injectors.text.languages import UNSPACED, Language
from crosswind.injectors.text.quotations import find_open_end
from crosswind.injectors.values.known_names import GIVEN_NAMES
from crosswind.injectors.values.mentions import Mention, find_mentions
from crosswind.injectors.values.parameters import ValueType

_NO_RIVALS = (ValueType.FILE, ValueType.EMAIL, ValueType.WORD)
"""Whose rival could be somebody else's, or would be nothing that anybody says."""


class Position(StrEnum):
    """Where a contradiction stands."""

    PLACE = "place"
    """In the value's place: the rival and what corrects it at once."""
    END = "end"
    """At the message's end: what puts the value in doubt."""
    SWAP = "swap"
    """The rival in the value's place, and what corrects it at the message's end."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A value of the user's and its rival."""

    value: str
    rival: str
    slip: str
    """The rival in the value's place, without the words that both end in: `13, sorry, 12 years`."""
    type: ValueType
    thing: str | None
    start: int
    end: int
    told: str
    """The value as a phrase in its place says it, with an article or a measure word that goes with it."""
    told_rival: str
    named: str
    """The value as a sentence of its own names it, with what it counts: `two guests`."""
    named_rival: str
    bare_rival: str
    """The rival beside the named value, which says what both are: `not 3, 2 guests`."""
    positions: frozenset[Position]
    alike: bool
    """Whether the text speaks another value that a bare correction could be for."""
    leads: bool
    """Whether more that belongs to it stands behind the value: a phrase in its place ends in it."""
    text: str

    def edit(
        self, position: Position, phrase: str, language: Language, *, apart: bool = False
    ) -> list[dict[str, Any]]:
        text = self.text
        if position is not Position.PLACE:
            edit = make_edit(len(text), "", _append(text, phrase, language, apart=apart))
            at = self.start + self.told.rindex(self.value)
            swap = [make_edit(at, self.value, self.rival)] if position is Position.SWAP else []
            return [*swap, edit]
        whole = phrase.endswith((self.told, ")", "）")) or language in JOINED
        told = phrase if whole else close_aside(phrase, text, self.end)
        return [make_edit(self.start, text[self.start : self.end], told)]


def _append(text: str, sentence: str, language: Language, *, apart: bool) -> str:
    missing = find_missing_mark(text, language)
    if apart and not text[-1:].isspace():
        return f"\n{sentence}"
    return f"{missing}{sentence}" if missing else join_sentence(text, sentence, language)


def find_contradictions(target: UserTarget, rng: SeededRandom, setting: Setting) -> Iterator[Contradiction]:
    """The values that have rivals, in random order."""
    text = target.text
    spoken = [
        one for one in find_spoken(target) if one.type not in _NO_RIVALS and len(one.text) <= LONGEST_VALUE
    ]
    if not spoken:
        return
    known = list_known(target)
    values = SureValues(text, spoken, ToolList.of(target.tools), setting.language, setting.tools)
    taken, opened = {one.text for one in spoken}, _list_opened(target)
    for one in rng.shuffled(spoken):
        if one.type in opened or not values.is_sure(one):
            continue
        rival = draw_slip(text, one, rng, setting.language, known.get(one.type, ()), taken)
        if rival is not None:
            found = _contradict(target, one, rival, values, spoken, setting.language)
            if found.positions:
                yield found


def _contradict(
    target: UserTarget,
    one: Mention,
    rival: str,
    values: SureValues,
    spoken: list[Mention],
    language: Language,
) -> Contradiction:
    """A value with its rival, and the positions where the two can stand, maybe none."""
    text, slip = target.text, shorten(target.text, one.text, rival)
    start, end, told, told_rival = find_span(text, one, slip, language)
    named, behind = name_both(text, one, rival, language), find_noun_behind(text, one, language)
    leads = goes_on(text, end, language) or is_before_moment(one, spoken)
    if region := find_region(text, one, rival):
        named, leads = (f"{one.text}{region}", f"{rival}{region}"), False
    inside = may_stand_inside(text, one, start, end, rival, language)
    inside = inside and not (splits(target.protected, start) or splits(target.protected, end))
    inside = inside and not (values.are_searched and one.type is ValueType.NAME)
    is_cut = is_behind_moment(one, spoken) or (is_within_phrase(text, one, language) and not behind)
    closed, whole = find_open_end(target.own) is None, stands_whole(text, one, named, language, leads=leads)
    free = {
        Position.PLACE: inside and not is_cut,
        Position.SWAP: inside and closed and whole and not splits(target.protected, len(text)),
        Position.END: closed and named is not None,
    }
    value_named, rival_named = named or name_option(text, one, rival, language)
    if behind and (start, end) == (one.start, one.end):
        lead = find_article(text, start)
        start, end, slip = start - len(lead), end + len(behind), rival
        told, told_rival = f"{lead}{told}{behind}", f"{text[start : start + len(lead)]}{told_rival}{behind}"
    bare = slip if one.type in _SHORTENED else rival_named
    return Contradiction(
        value=one.text,
        rival=rival,
        slip=slip,
        type=one.type,
        thing=one.thing,
        start=start,
        end=end,
        told=told,
        told_rival=told_rival,
        named=value_named,
        named_rival=rival_named,
        bare_rival=rival if one.type is ValueType.NUMBER else bare,
        positions=frozenset(position for position, is_free in free.items() if is_free),
        alike=_has_like(target, one, language),
        leads=(leads and not behind) or region != "",
        text=text,
    )


_SHORTENED = (ValueType.DURATION, ValueType.MONEY, ValueType.NAME)


def _list_opened(target: UserTarget) -> set[ValueType]:
    """The types of the user's values that other noise has left open: a value of such a type at the end would
    be taken for the one that is missing."""
    if target.clean is None or target.clean == target.text:
        return set()
    mentions = find_mentions(target.clean, ToolList.of(target.tools))
    told = _OR_TWO.sub("", target.text)
    return {one.type for one in mentions if not is_said(told, one.text)}


_OR_TWO = re.compile(r"\w+ or two\b")
"""The last word of a value that has become vague: of `next week` in `the next week or two`."""


def _has_like(target: UserTarget, one: Mention, language: Language) -> bool:
    """Whether another value is of its kind, so that a correction has to say which one it is for."""
    text, kinds = target.text, next((kinds for kinds in _LIKE if one.type in kinds), (one.type,))
    noun = PLURAL.match(text, one.end) if language is Language.EN else None
    for other in find_mentions(text, ToolList.of(target.tools)):
        if other.start == one.start or other.type not in kinds:
            continue
        counted = PLURAL.match(text, other.end) if noun is not None else None
        # What they count tells two numbers apart: `2 guests`, `4 nights`.
        if noun is None or counted is None or counted[0].lower() == noun[0].lower():
            return True
    if one.type in (ValueType.PLACE, ValueType.NAME) and any(
        word[0] in _NAMES and not one.start <= word.start() < one.end for word in _CAPITALISED.finditer(text)
    ):
        return True  # `Tom owes me 50, send it to Anna`, with one person among the values.
    if noun is None and _BARE.fullmatch(one.text) and language not in UNSPACED:
        # `May 4 ... I meant 2!` could be for the day.
        return any(found.start() != one.start for found in _BARE.finditer(text))
    digits = _LONG_DIGITS.fullmatch(one.text)
    return digits is not None and any(
        found.start() != one.start and len(found[0]) == len(one.text) for found in _LONG_DIGITS.finditer(text)
    )


_LIKE = ((ValueType.ID, ValueType.NUMBER), (ValueType.PLACE, ValueType.NAME))
_NAMES = PLACES | frozenset(GIVEN_NAMES)
_CAPITALISED = re.compile(r"[A-ZÀ-Þ]\w+")
_BARE = re.compile(r"\d+(?:[.,]\d+)*")
"""A number without a word for what it is."""
_LONG_DIGITS = re.compile(r"(?<!\d)\d{4,}(?!\d)")
