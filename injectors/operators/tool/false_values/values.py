"""Other values for the facts of tools' results: false ones, and earlier ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache

from crosswind.injectors.operators.tool.facts import Fact, FactKind
from crosswind.injectors.operators.tool.false_values.enumerated import STATES, list_options, read_states
from crosswind.injectors.operators.tool.false_values.false_figures import draw_figure
from crosswind.injectors.operators.words.vocabularies import LIFECYCLES, UNDER_WAY, VOCABULARIES
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import ToolClass, ToolResultTarget
from crosswind.injectors.text.edits import apply_edits, make_edit
from crosswind.injectors.text.json_leaves import MOST, is_asked_for
from crosswind.injectors.text.json_payload import is_container, parse_json
from crosswind.injectors.text.json_spans import find_leaves
from crosswind.injectors.values.known_names import GIVEN_NAMES, list_near_cities, list_near_names
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType
from crosswind.injectors.values.rivals import draw_rival

SpanEdit = tuple[int, int, str]
"""A span [start, end) and the string to put there."""


def _by_word(lists: tuple[tuple[str, ...], ...]) -> dict[str, tuple[str, ...]]:
    """The first list that has a word, by the word in lower case."""
    return {word.lower(): words for words in reversed(lists) for word in words}


_BY_WORD, _LIFE_BY_WORD = _by_word(VOCABULARIES), _by_word(LIFECYCLES)


class Alternatives:
    """The words that could stand for another in a result: its tool's enumerated values, what the same field
    says elsewhere, and our vocabularies."""

    def __init__(self, target: ToolResultTarget, facts: Iterable[Fact]) -> None:
        self.target = target
        self._same_field: dict[tuple[str, ...], Counter[str]] = {}
        self._beside: dict[tuple[str | int, ...], set[str]] = {}
        self._codes: dict[str, None] = {}
        self._columns = _read_columns(target.text)
        self._said: dict[str, list[str]] | None = None
        for fact in facts:
            if fact.kind is FactKind.WORD:
                self._same_field.setdefault(fact.about, Counter())[fact.text] += 1
                self._beside.setdefault(fact.place[:-1], set()).add(fact.text.lower())
                if _CODE.fullmatch(fact.text):
                    self._codes[fact.text] = None

    def find(self, fact: Fact) -> list[str]:
        """Other words for this one, of the first kind that there are any of. An item of a list has none: it
        would be in the list twice; nor has one that is the only of its field, such as a name."""
        if fact.place and isinstance(fact.place[-1], int) and not _is_cell(fact):
            return []
        return [one for one in self._find(fact) if not self.is_repeated(fact, one)]

    def is_repeated(self, fact: Fact, word: str) -> bool:
        """Whether a word would be the second of its kind in a column that says no word twice, as a row's key
        in what was grouped."""
        column = self._columns.get(fact.place[-1], ()) if fact.place else ()
        return len(column) > 1 and len(set(column)) == len(column) and word.lower() in column

    def _find(self, fact: Fact) -> list[str]:
        value = fact.text
        same = self._same_field.get(fact.about, Counter()) if fact.field else Counter()
        beside = self._beside.get(fact.place[:-1], set())
        if fact.field and max(same.values(), default=0) == 1:
            beside = beside.union(map(str.lower, same))
        sources: Iterable[Iterable[str]] = (
            () if self.target.tool_class is ToolClass.READ_ONLY else _find_under_way(value),
            self._find_said(fact),
            _find_kind(value),
            same if max(same.values(), default=0) > 1 else (),
            self._codes if _CODE.fullmatch(value) else (),
        )
        if named := list_options(self.target, fact):
            sources = (named,)  # No word outside an enumeration may stand there.
        for source in sources:
            others = [match_case(one, value) for one in source if one.lower() != value.lower()]
            if value[:1].isupper() and "_" not in value:
                others = [one for one in others if "_" not in one] or others
            free = [one for one in others if one.lower() not in beside]
            if free := [one for one in free if not is_asked_for(one, self.target)]:
                return free
        return []

    def is_guessed(self, fact: Fact) -> bool:
        """Whether nothing tells which other states there are: no enumeration, no earlier result."""
        if fact.kind is not FactKind.WORD or STATES.isdisjoint(fact.words):
            return False
        return not list_options(self.target, fact) and not self._find_said(fact)

    def _find_said(self, fact: Fact) -> Sequence[str]:
        """The states that earlier results of the session have in a field of this name."""
        if STATES.isdisjoint(fact.words):
            return ()
        if self._said is None:
            self._said = read_states(self.target)
        return [one for one in self._said.get(fact.field, ()) if one.lower() != fact.text.lower()]


def _read_columns(text: str) -> dict[str | int, list[str]]:
    """What the rows of JSON say in each field, in lower case, rows of any list together."""
    columns: dict[str | int, list[str]] = {}
    if not is_container(parse_json(text)):
        return columns
    for leaf in find_leaves(text, MOST):
        in_row = any(isinstance(key, int) for key in leaf.place)
        if in_row and isinstance(leaf.value, str) and isinstance(leaf.place[-1], str):
            columns.setdefault(leaf.place[-1], []).append(leaf.value.lower())
    return columns


def _find_under_way(value: str) -> Sequence[str]:
    """The states in which what a call asked for may be, too."""
    return next((states for states in UNDER_WAY if value.lower() in states), ())


def _find_kind(value: str) -> Sequence[str]:
    """Words of the same kind: of its vocabulary, of the cities those near by, and names that begin alike."""
    words = _BY_WORD.get(value.lower(), ())
    if value in words and value[:1].isupper() and len(words) > LARGEST_PLAIN:
        return list_near_cities(value, words)
    first, _, rest = value.partition(" ")
    if not words and first in GIVEN_NAMES:
        return [f"{one} {rest}".rstrip() for one in list_near_names(first)]
    return words


LARGEST_PLAIN = 40
"""Words of the largest vocabulary in which each may stand for each."""


def _is_cell(fact: Fact) -> bool:
    """Whether a fact stands in a row of a table: its field is its column's."""
    return len(fact.place) > 1 and isinstance(fact.place[-2], int)


_CODE = re.compile(r"[A-Z]{3}")
"""Codes such as OSL and VIE can stand for each other, whatever field they are in."""


def draw_other(fact: Fact, alternatives: Alternatives, rng: SeededRandom) -> str | None:
    """Draw a false value in place of this one, as it is written; None where we have none."""
    match fact.kind:
        case FactKind.FLAG:
            return "false" if fact.text == "true" else "true"
        case FactKind.WORD:
            words = alternatives.find(fact)
            return rng.choice(words) if words else None
        case FactKind.FIGURE:
            return draw_figure(fact, rng)
        case FactKind.DIGITS:
            at = rng.integer(2, len(fact.text) - 1)
            digit = fact.text[at]
            other = rng.choice([one for one in "0123456789" if one != digit])
            return f"{fact.text[:at]}{other}{fact.text[at + 1 :]}" if digit.isdigit() else None
        case FactKind.YEAR:
            step = _draw_step(rng, 9)
            return str(int(fact.text) + (-abs(step) if int(fact.text) > LAST_YEAR else step))
        case _:
            return move_time(fact, _draw_step(rng, 9), _draw_step(rng, 19), rng)


def move_time(fact: Fact, days: int, hours: int, rng: SeededRandom) -> str | None:
    """The date or time moved by so many days, or hours where it is a time, in its own form."""
    text = fact.text
    match fact.kind:
        case FactKind.EPOCH:
            return str(int(text) + hours * 3600 * (1000 if len(text.lstrip("-")) == 13 else 1))
        case FactKind.TIME:
            return _CLOCK.sub(lambda clock: _move_clock(clock, hours), text, count=1)
        case FactKind.DATE if (iso := _ISO.match(text)) is not None:
            try:
                day = datetime.fromisoformat(iso[0][:10]) + timedelta(days=days)
            except (ValueError, OverflowError):
                return None
            return f"{day:%Y-%m-%d}{text[10:]}"
        case FactKind.DATE:
            moved = draw_rival(Mention(0, len(text), text, ValueType.DATE, None), rng)
            return f"0{moved}" if moved and _PADDED.match(text) and moved[1:2] in "./" else moved
    return None


_ISO = re.compile(r"\d{4}-\d\d-\d\d")
_PADDED = re.compile(r"\d\d[./]")
_CLOCK = re.compile(r"(\d{1,2}):(\d\d)")


def _move_clock(clock: re.Match[str], steps: int) -> str:
    """A time moved by about so many times five minutes, as round as it was, within its half of the day."""
    hour, minute, sign = int(clock[1]), int(clock[2]), 1 if steps > 0 else -1
    half = 12 * 60 if hour < 12 else 24 * 60
    start = half - 12 * 60
    unit = next(one for one in (30, 15, 5, 1) if minute % one == 0)
    moved = start + (hour * 60 + minute - start + unit * max(1, abs(steps) // (unit // 5 or 1)) * sign) % (
        12 * 60
    )
    if moved // 60 == 0 and len(clock[1]) == 1:
        moved += 60
    return f"{moved // 60:0{len(clock[1])}d}:{moved % 60:02d}"


def _draw_step(rng: SeededRandom, most: int) -> int:
    """1 to `most`, up or down."""
    step = rng.integer(1, most)
    return step if rng.chance(0.5) else -step


LAST_YEAR = 2010
"""A false year behind this one is an earlier one: it isn't in the future."""


def find_earlier_word(value: str, options: Sequence[str] = ()) -> str | None:
    """The word before this one in the schema's enumeration, or else in its lifecycle; None."""
    for words in (options, _LIFE_BY_WORD.get(value.lower(), ())):
        spelt = [word.lower() for word in words]
        if value.lower() in spelt:
            at = spelt.index(value.lower())
            return match_case(words[at - 1], value) if at else None
    return None


def is_state(value: str) -> bool:
    """Whether a word is of a lifecycle: what isn't has no first one."""
    return value.lower() in _LIFE_BY_WORD


@lru_cache(1024)
def find_neighbours(value: str) -> tuple[str, ...]:
    """The words beside this one in its vocabulary."""
    vocabulary = _BY_WORD.get(value.lower(), ())
    at = [word.lower() for word in vocabulary].index(value.lower()) if vocabulary else 0
    beside = (*vocabulary[max(0, at - 1) : at], *vocabulary[at + 1 : at + 2])
    return tuple(match_case(word, value) for word in beside)


def match_case(word: str, like: str) -> str:
    """Write the word in the case of another; a name keeps its own."""
    if word != word.lower():
        return word
    if like.isupper():
        return word.upper()
    return word.capitalize() if like[:1].isupper() else word


def spread(text: str, facts: Sequence[Fact], drawn: Mapping[int, str]) -> list[SpanEdit]:
    """The edits that put these values in place of the facts with these numbers, wherever else the result says
    the same: a figure that running text has twice, and a name."""
    edits = [facts[at].replace(shown) for at, shown in drawn.items()]
    said = {facts[at].text: (shown, facts[at]) for at, shown in drawn.items()}
    for at, fact in enumerate(facts):
        if at not in drawn and fact.prose and fact.text in said and said[fact.text][1].prose:
            edits.append(fact.replace(said[fact.text][0]))
    for name, (shown, fact) in said.items():
        if fact.kind is FactKind.WORD and _is_name(name):
            escaped = fact.frame.escape(shown)
            edits += [(*match.span(), escaped) for match in _whole(name).finditer(text)]
    return keep_apart(edits)


_NAME = re.compile(r"[A-Z][^\W\d_]{2,}(?:[ -][A-Z][^\W\d_]+){0,3}")
"""A proper name: it is the same one wherever it stands."""


def _is_name(word: str) -> bool:
    vocabulary = _BY_WORD.get(word.lower(), (word,))
    return _NAME.fullmatch(word) is not None and vocabulary[0] != vocabulary[0].lower()


@lru_cache(256)
def _whole(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w@./-]){re.escape(name)}(?![\w@/-]|\.\w)")


def keep_apart(edits: Iterable[SpanEdit]) -> list[SpanEdit]:
    """The edits in the text's order, as `replace_spans` needs them; of two that overlap, the first."""
    kept: list[SpanEdit] = []
    for edit in sorted(edits):
        if not kept or edit[0] >= kept[-1][1]:
            kept.append(edit)
    return kept


def replace_spans(text: str, edits: Iterable[Sequence[int | str]]) -> str:
    """The text with each span [start, end) replaced; they are in order and apart."""
    return apply_edits(
        text, (make_edit(int(one[0]), text[int(one[0]) : int(one[1])], str(one[2])) for one in edits)
    )
