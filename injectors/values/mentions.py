"""Mentions: the values in a user's words that fill parameters of the declared tools.

A value is told by its form (a date, an amount, an id, a capitalised name) and by the tools: it is a mention
only where some parameter takes a value of its type. What stands in quotation marks, in code, or behind
`called` or `exactly` is a value, too; it is literal: a call needs it as it is.

Every scan is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec

from crosswind.injectors.conversation import ToolList, ToolListKey
from crosswind.injectors.text.quotations import find_literals, find_plain_names
from crosswind.injectors.values.forms import LONGEST, find_forms, find_names
from crosswind.injectors.values.known_names import GIVEN_NAMES
from crosswind.injectors.values.parameters import Parameter, ValueType, list_once


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
    return _find_mentions(text, tools.key) if tools else ()


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
    ValueType.NAME: (ValueType.NAME, ValueType.WORD),
}
"""The types of parameter that a form fills, the nearest first."""
_NEAR = 40
"""Characters before and behind a value in which a parameter's words name it."""
_WORD = re.compile(r"[^\W\d_]+")


def find_values(text: str, tools: ToolList) -> tuple[tuple[int, int], ...]:
    """Where the values of `find_mentions` stand, in no order: for who needs no more of them."""
    if not tools or len(text) > LONGEST:
        return ()
    return tuple((start, end) for start, end, _, _ in _find_values(text, tools.key))


@lru_cache(256)
def _find_values(text: str, tools: ToolListKey) -> tuple[tuple[int, int, ValueType, _Choices], ...]:
    """The values in the text, apart, and the parameters that each may fill."""
    index = _index(tools)
    if not index.parameters:
        return ()
    forms = [*find_forms(text)]
    days = {(start, end) for start, end, kind in forms if kind is ValueType.DATE}
    forms += [one for one in find_names(text) if one[:2] not in days]  # Saturday is no customer.
    candidates = _find_options(text, index)
    for start, end, kind in forms:
        if (choices := index.find_choices(kind)) is not None:
            candidates.append((start, end, kind, choices))
    taken = bytearray(len(text))
    found: list[tuple[int, int, ValueType, _Choices]] = []
    for start, end, kind, choices in candidates:
        if taken.find(1, start, end) < 0:
            taken[start:end] = b"\1" * (end - start)
            found.append((start, end, kind, choices))
    return tuple(found)


@lru_cache(256)
def _find_mentions(text: str, tools: ToolListKey) -> tuple[Mention, ...]:
    values = _find_values(text, tools)
    if not values:
        return ()
    quoted = bytearray(len(text))
    for start, end in (*((one.start, one.end) for one in find_literals(text)), *find_plain_names(text)):
        quoted[start:end] = b"\1" * (end - start)
    found: list[Mention] = []
    for start, end, kind, choices in values:
        chosen, named = _nearest(text, start, end, kind, choices)
        thing = chosen.thing if named else choices.shared
        options = chosen.options if kind is ValueType.OPTION else ()
        literal = kind is ValueType.FILE or quoted.find(1, start, end) >= 0
        found.append(Mention(start, end, text[start:end], kind, thing, options, literal))
    return tuple(sorted(found, key=lambda one: one.start))


class _Choices(NamedTuple):
    """The parameters that a value may fill."""

    parameters: tuple[Parameter, ...]
    by_word: Mapping[str, int]
    """The number of the first one that has a word in its name."""
    person: Parameter | None
    """The first that takes a person, where all that do take the same."""
    shared: str | None
    """What a value is that any of them takes."""


class _Index:
    """The choices of a list of tools, which are the same for every text."""

    __slots__ = ("_by_kind", "by_option", "parameters")

    def __init__(
        self, parameters: tuple[Parameter, ...], by_option: tuple[tuple[str, _Choices], ...]
    ) -> None:
        self.parameters = parameters
        self.by_option = by_option
        """By what users call an enumerated value, the longest first."""
        self._by_kind: dict[ValueType, _Choices | None] = {}

    def find_choices(self, kind: ValueType) -> _Choices | None:
        """The parameters that a value of this type may fill; None: none."""
        if kind not in self._by_kind:
            some = _fillable(kind, self.parameters)
            self._by_kind[kind] = _make_choices(kind, some) if some else None
        return self._by_kind[kind]


@lru_cache(256)
def _index(tools: ToolListKey) -> _Index:
    parameters = list_once(tools)
    spoken: dict[str, list[Parameter]] = {}
    for parameter in parameters:
        for option in parameter.options:
            lowered = option.lower()
            for form in dict.fromkeys((lowered, lowered.replace("_", " ").replace("-", " "))):
                if len(form) > 1:
                    spoken.setdefault(form, []).append(parameter)
    return _Index(
        parameters,
        tuple(
            (form, _make_choices(ValueType.OPTION, tuple(spoken[form])))
            for form in sorted(spoken, key=len, reverse=True)
        ),
    )


def _fillable(kind: ValueType, parameters: Sequence[Parameter]) -> tuple[Parameter, ...]:
    """The parameters that a value of this type fills: those of the nearest type that there are any of."""
    for wanted in _COMPATIBLE.get(kind, (kind,)):
        if some := tuple(one for one in parameters if one.type is wanted):
            return some
    return ()


def _make_choices(kind: ValueType, parameters: tuple[Parameter, ...]) -> _Choices:
    by_word: dict[str, int] = {}
    for at, one in enumerate(parameters):
        for word in one.words:
            by_word.setdefault(word, at)
    persons = [one for one in parameters if not _PERSONS.isdisjoint(one.words)]
    person = persons[0] if len({one.thing for one in persons}) == 1 else None
    return _Choices(parameters, by_word, person, _shared_thing(kind, parameters))


def _nearest(text: str, start: int, end: int, kind: ValueType, choices: _Choices) -> tuple[Parameter, bool]:
    """The parameter that a word nearest to the value names, or the first one; and whether any is named."""
    if (
        kind is ValueType.NAME
        and choices.person is not None
        and text[start:end].partition(" ")[0] in GIVEN_NAMES
    ):
        return choices.person, True
    before = [word.lower() for word in _WORD.findall(text[max(0, start - _NEAR) : start])]
    behind = [word.lower() for word in _WORD.findall(text[end : end + _NEAR])]
    by_word, near = choices.by_word, (_NOT_NEAR, 0)
    for word in _DIRECTIONS.get(before[-1] if before else "", ()):
        if word in by_word:
            near = min(near, (0, by_word[word]))
    for words, place in ((before[: -_FAR - 1 : -1], 0), (behind[:_BEHIND], 1)):
        for distance, word in enumerate(words):
            for form in (word, word.removesuffix("s")):
                if form in by_word:
                    near = min(near, (2 * distance + place, by_word[form]))
    return choices.parameters[near[1]], near[0] < _NOT_NEAR


_NOT_NEAR = 1_000
"""A distance beyond all in which words are looked at."""


def _shared_thing(kind: ValueType, choices: Sequence[Parameter]) -> str | None:
    """What a value is that any of the parameters takes: "date" for a departure date and a new date."""
    things = {one.thing for one in choices if one.type is kind}
    if len(things) == 1:
        return things.pop()
    heads = {thing.rpartition(" ")[2] for thing in things if thing is not None}
    return heads.pop() if len(heads) == 1 and None not in things else None


_FAR, _BEHIND = 6, 2
"""Words before a value, and behind it, that may name it."""
_PERSONS = frozenset(
    """
    person user username recipient contact receiver sender patient assignee customer employee friend attendees
    """.split()
)


def _find_options(text: str, index: _Index) -> list[tuple[int, int, ValueType, _Choices]]:
    """Enumerated values that the text names, by themselves or with spaces for underscores."""
    found, lowered = list[tuple[int, int, ValueType, _Choices]](), text.lower()
    for form, choices in index.by_option:
        at = lowered.find(form)
        while at >= 0:
            end = at + len(form)
            if not lowered[at - 1 : at].isalnum() and not lowered[end : end + 1].isalnum():
                found.append((at, end, ValueType.OPTION, choices))
            at = lowered.find(form, end)
    return found
