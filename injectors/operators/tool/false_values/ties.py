"""Which facts of a result stand alone: a false value of theirs contradicts nothing beside it.

A fact is tied where something else in the result, or the call itself, says the same or follows from it: a
lock's state beside the number of open doors, a sum beside its items, an order of dates, a figure that is told
twice, what a write says of itself.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

from crosswind.injectors.guard.tool_evidence import words_of
from crosswind.injectors.operators.tool.facts import Fact, FactKind, split_field
from crosswind.injectors.operators.tool.false_values.figures import read_figure
from crosswind.injectors.operators.words import fields
from crosswind.injectors.operators.words.vocabularies import UNDER_WAY
from crosswind.injectors.targets import ToolClass, ToolResultTarget
from crosswind.injectors.text.json_leaves import follow, list_leaves
from crosswind.injectors.text.json_payload import is_container, parse_json

Place = tuple[str | int, ...]


def find_free(target: ToolResultTarget, facts: Sequence[Fact]) -> list[Fact]:
    """The facts that stand alone, in order."""
    value = parse_json(target.text)
    acts = writes(target)
    told = _count_figures(target.text)
    summed, listed, timed = _find_sums(value), _find_lists(value), _count_times(facts)
    located = isinstance(value, dict) and not _LOCATED.isdisjoint(value)
    judges = find_verdicts(facts)
    related = find_related(facts)
    free: list[Fact] = []
    for one in () if located else facts:
        kind, holder = one.kind, one.place[:-1]
        if kind in TIMES:
            tied = acts or listed.get(holder, 0) > 1 or timed[holder] > 1 or _is_element(one)
        elif kind in (FactKind.WORD, FactKind.FLAG):
            tied = (acts and not one.prose and not _is_progress(one, target)) or _is_echoed(one, value)
            tied = tied or one in judges
        else:
            tied = _is_told(one, told) or any(one.place[:depth] in summed for depth in range(len(one.place)))
            tied = (
                tied
                or one in related
                or _counts_states(one)
                or is_end(one, value)
                or has_quotes_beside(one, facts)
                or (_is_element(one) and one.text.isdigit() and not _measures(one))
            )
        if not tied:
            free.append(one)
    return free


def _is_progress(fact: Fact, target: ToolResultTarget) -> bool:
    """Whether a word says how far what a call asked for has come: `pending` of an order that was placed. What
    the call itself did, as `locked` of a lock, is none."""
    said = fact.text.lower()
    known = any(said in states for states in UNDER_WAY)
    stems = [word[:4] for word in words_of(target.tool) if len(word) > 3]
    return known and not fields.SENSED.intersection(fact.words) and not said.startswith(tuple(stems))


def find_related(facts: Sequence[Fact]) -> list[Fact]:
    """The figures that are the sum or the product of two others beside them, and those two: a false one would
    show."""
    groups: dict[tuple[Place, str], list[tuple[float, Fact]]] = {}
    for one in facts:
        if one.kind is FactKind.FIGURE and (value := read_figure(one.text)):
            groups.setdefault((one.place[:-1], one.frame.text if one.prose else ""), []).append((value, one))
    found: list[Fact] = []
    for group in groups.values():
        for first, second, third in combinations(group[:MOST_RELATED], 3):
            low, middle, high = sorted((abs(first[0]), abs(second[0]), abs(third[0])))
            if high < LEAST_RELATED:
                continue
            sums = abs(low + middle - high) <= ROUNDED
            if sums or (low > LEAST_FACTOR and abs(low * middle - high) <= 0.002 * high):
                found += [first[1], second[1], third[1]]
    return found


MOST_RELATED = 12
"""Figures of one object or text that are compared."""
ROUNDED = 0.011
"""What a sum of figures with two decimals may be off."""
LEAST_FACTOR, LEAST_RELATED = 1.5, 20.0
"""Smaller figures are sums and products of each other by chance."""


def find_verdicts(facts: Sequence[Fact]) -> list[Fact]:
    """The words and flags that judge a figure beside them, which would contradict another: `healthy`."""
    figures = [one for one in facts if one.kind is FactKind.FIGURE]
    about = {word for one in figures for word in one.about} - _OF_STATES
    return [
        one
        for one in (facts if figures else ())
        if one.kind in (FactKind.WORD, FactKind.FLAG)
        and not one.prose
        and (not about.isdisjoint(one.words) or one.text.lower() in _VERDICTS)
    ]


_VERDICTS = frozenset(
    """healthy unhealthy normal abnormal ok good bad poor fair low high critical elevated warning stable
    severe mild moderate full empty excellent""".split()
)


def is_end(fact: Fact, value: Any) -> bool:
    """Whether a figure is an end of a range whose other end stands beside it: neither may pass the other."""
    ends = [word for word in fact.words if word in _ENDS]
    holder = follow(value, fact.place[:-1]) if ends and fact.place else None
    if not isinstance(holder, dict):
        return False
    other = tuple(_ENDS.get(word, word) for word in fact.words)
    return any(split_field(key) == other for key in holder)


def has_quotes_beside(fact: Fact, facts: Sequence[Fact]) -> bool:
    """Whether a price stands beside its own means, ends or close, which are near it."""
    if QUOTES.isdisjoint(fact.words):
        return False
    return any(
        one is not fact and one.place[:-1] == fact.place[:-1] and not QUOTES.isdisjoint(one.words)
        for one in facts
        if one.kind is FactKind.FIGURE and one.words != fact.words
    )


QUOTES = frozenset("price ma sma ema open close high low average avg vwap bid ask".split())


_PAIRS = (("min", "max"), ("minimum", "maximum"), ("low", "high"), ("lower", "upper"), ("from", "to"))
_ENDS = dict(_PAIRS) | {last: first for first, last in _PAIRS}


_LOCATED = frozenset({"lat", "latitude", "lon", "longitude", "coordinates"})
"""Fields of a place: all else is about it."""
TIMES = (FactKind.DATE, FactKind.TIME, FactKind.EPOCH)
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")


def writes(target: ToolResultTarget) -> bool:
    """Whether the call did something: what its answer says of the state is what was asked for."""
    if target.tool_class in (ToolClass.READ_ONLY, ToolClass.UNKNOWN):
        return not _DOING.isdisjoint(words_of(target.tool)[:1])
    return True


_DOING = frozenset(
    """set start stop lock unlock press release activate adjust fill turn open close engage cancel create
    place book post send add delete remove update edit resolve transfer apply follow authenticate login refill
    make""".split()
)


def _count_figures(text: str) -> Counter[str]:
    """How often running text has a figure: the strings of JSON, or the whole; and, with a "=" before them,
    JSON's own numbers."""
    leaves = list_leaves(text).values if is_container(parse_json(text)) else [text]
    said = Counter(figure for one in leaves if isinstance(one, str) for figure in _FIGURE.findall(one))
    return said + Counter(f"={one}" for one in leaves if type(one) in (int, float))


def _is_told(fact: Fact, told: Counter[str]) -> bool:
    """Whether running text has the same figure: a long one that it has twice is falsified in both places."""
    if fact.prose:
        return (told[fact.text] > 1 and len(fact.text) < LONG) or told[f"={fact.text}"] > 0
    return len(fact.text) > 1 and told[fact.text] > 0 and fact.frame.levels == 0


LONG = 4
"""Characters of a figure that isn't there twice by chance."""


def _is_element(fact: Fact) -> bool:
    """Whether it is an item of a plain list, and no cell of a table."""
    return (
        bool(fact.place)
        and isinstance(fact.place[-1], int)
        and (len(fact.place) < 2 or not isinstance(fact.place[-2], int))
    )


def _measures(fact: Fact) -> bool:
    words = fact.words
    return not (fields.MEASURED | fields.AMOUNTS).isdisjoint(words)


def _is_echoed(fact: Fact, value: Any) -> bool:
    """Whether another field of its object is about the same: by its name, or by the state's own word."""
    holder = follow(value, fact.place[:-1]) if fact.place else None
    if not isinstance(holder, dict):
        return False
    own = {word for word in fact.words if len(word) > 2} - _OF_STATES
    said = fact.text.lower()
    for key in holder:
        if key == fact.place[-1]:
            continue
        words = set(split_field(key)) - _OF_STATES
        if not own.isdisjoint(words) or (
            fact.kind is FactKind.WORD and len(said) > 3 and _shares(said, words)
        ):
            return True
    return fact.kind is FactKind.FLAG and not _DECLARED.isdisjoint(fact.words)


def _shares(said: str, words: Iterable[str]) -> bool:
    return any(
        said.removeprefix("un") in word or word.removeprefix("un") in said for word in words if len(word) > 3
    )


_OF_STATES = frozenset("status state is has mode kind type level current order user id name".split())
"""Words of fields that don't say what the field is about."""
_DECLARED = frozenset("nullable required primary unique optional valid truncated".split())
"""Words of flags that a definition has."""


def _counts_states(fact: Fact) -> bool:
    """Whether a number counts what is in a state that another field tells."""
    return fact.text.isdigit() and not _STATES.isdisjoint(fact.words)


_STATES = frozenset(
    "remaining unlocked locked open closed failed passed active online done left blocks block".split()
)


def _count_times(facts: Sequence[Fact]) -> Counter[Place]:
    return Counter(one.place[:-1] for one in facts if one.kind in TIMES)


def _find_lists(value: Any) -> dict[Place, int]:
    """The records of lists, each with how many its list has."""
    found: dict[Place, int] = {}
    for place, part in _containers(value):
        if isinstance(part, list):
            found |= {(*place, at): len(part) for at in range(len(part))}
            found[place] = len(part)
    return found


def _containers(value: Any) -> Iterable[tuple[Place, Any]]:
    pending: list[tuple[Place, Any]] = [((), value)]
    while pending:
        place, part = pending.pop()
        if isinstance(part, dict):
            yield place, part
            pending += [((*place, key), one) for key, one in part.items()]
        elif isinstance(part, list):
            yield place, part
            pending += [((*place, at), one) for at, one in enumerate(part[:LONGEST])]


LONGEST = 400


def _find_sums(value: Any) -> set[Place]:
    """The objects that have a list of figures, and the sum, the mean or the number of them beside it."""
    found: set[Place] = set()
    for place, part in _containers(value):
        held = part.values() if isinstance(part, dict) else ()
        lists = [one for one in held if isinstance(one, list | dict) and one]
        named = any(not _SUMS.isdisjoint(split_field(key)) for key in part) if lists else False
        if named or any(_adds_up(one, part) for one in lists):
            found.add(place)
    return found


_SUMS = frozenset("total subtotal sum average mean avg due overall".split())


def _adds_up(items: Any, beside: dict[str, Any]) -> bool:
    if not isinstance(items, list) or len(items) < 2 or not all(type(one) in (int, float) for one in items):
        return False
    total = sum(items)
    figures = [one for one in beside.values() if type(one) in (int, float)]
    return any(
        abs(one - aim) < 0.02 * max(1.0, abs(aim)) for one in figures for aim in (total, total / len(items))
    )
