"""Regular expressions that can't be searched for in a time that anybody waits for.

Python's engine tries the ways to match one after the other. Where a loop can take one text in two ways, each
further round of it doubles their number: `(a+)+$` takes minutes for thirty letters, and for sixty longer than
the world stands. Such a loop is found in the expression itself, so that it is refused on every machine alike:
the expression is a graph of its characters, and the loop a way from a character back to itself that two walks
take with equal texts by different steps (exponential ambiguity: Weber and Seidl, 1991).

What takes time in the square or the cube of the text is let through, as any `.*x` does, and what is too large
to be looked into.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

_MOST = 400
"""Characters of an expression's graph: repeats are unrolled up to here."""
_STEPS = 300_000
"""Of two walks: about a second."""
_LONGEST = 1_000
"""Characters of an expression that is looked into."""
_SAMPLE = frozenset([*map(chr, range(0x180)), "\u0660", "\u2028", "\u4e2d", "\U0001f600"])
"""What characters are told apart by, beside those that an expression names."""
_CATEGORIES = {
    op.CATEGORY_DIGIT: r"\d",
    op.CATEGORY_NOT_DIGIT: r"\D",
    op.CATEGORY_SPACE: r"\s",
    op.CATEGORY_NOT_SPACE: r"\S",
    op.CATEGORY_WORD: r"\w",
    op.CATEGORY_NOT_WORD: r"\W",
}
Letters = frozenset[str]


@dataclass(slots=True)
class _Part:
    """A part of an expression: the characters that it can begin and end with, one as often as there are ways
    to it, and in how many ways it can be empty.
    """

    first: list[int] = field(default_factory=list)
    last: list[int] = field(default_factory=list)
    empty: int = 1
    """2 stands for several."""
    endless: bool = False


def check(pattern: str) -> None:
    """re.error where it is no regular expression, ValueError where its search may not end."""
    re.compile(pattern)
    if explodes(pattern):
        raise ValueError(
            "a loop of it can take the same text in two ways, so that a search may not end: have its rounds "
            "begin or end with what is nowhere else in them, as in (?:\\w+,)+"
        )


@lru_cache(256)
def explodes(pattern: str) -> bool:
    """Whether the ways to match double with each round of some loop. re.error where it is no expression."""
    if len(pattern) > _LONGEST:
        return False
    tree = _parser.parse(pattern)
    waiting, found = [tree], False
    while waiting and not found:
        graph = _Graph(tree.state.flags, Letters({*_SAMPLE, *pattern}))
        graph.sequence(waiting.pop())
        waiting += graph.apart
        found = graph.ambiguous()
    return found


class _Graph:
    """Which characters of an expression can follow which, and in how many ways."""

    def __init__(self, flags: int, alphabet: Letters) -> None:
        self._flags, self._alphabet = flags, alphabet
        self._letters: list[Letters] = []
        self._follows: Counter[tuple[int, int]] = Counter()
        self._steps = 0
        self.apart: list[Any] = []
        """Expressions within that are matched by themselves: what is looked for ahead or behind."""

    def sequence(self, parts: Any) -> _Part:
        whole = _Part()
        for kind, value in parts:
            whole = self._joined(whole, self._part(kind, value))
        return whole

    def _part(self, kind: Any, value: Any) -> _Part:
        match kind:
            case op.MAX_REPEAT | op.MIN_REPEAT:
                part = self._repeated(*value)
            case op.SUBPATTERN:
                part = self.sequence(value[3])
            case op.BRANCH:
                part = _either([self.sequence(one) for one in value[1]])
            case op.GROUPREF_EXISTS:
                part = _either([self.sequence(one or []) for one in value[1:]])
            case op.ATOMIC_GROUP:
                part = self._settled(1, value)
            case op.POSSESSIVE_REPEAT:
                part = self._settled(value[0], value[2])
            case op.ASSERT | op.ASSERT_NOT:
                self.apart.append(value[1])
                part = _Part()
            case op.AT | op.GROUPREF | op.FAILURE:
                part = _Part()
            case _:
                part = self._place(self._taken(kind, value))
        return part

    def _place(self, letters: Letters) -> _Part:
        self._letters.append(letters)
        at = len(self._letters) - 1
        return _Part([at], [at], empty=0)

    def _settled(self, least: int, body: Any) -> _Part:
        """What isn't tried in another way once it matched: one character stands for it."""
        within = _Graph(self._flags, self._alphabet)
        part = within.sequence(body)
        self.apart += [body, *within.apart]
        one = self._place(Letters().union(*(within._letters[at] for at in part.first)))
        return _Part(one.first, one.last, int(part.empty > 0 or least == 0))

    def _repeated(self, least: int, most: Any, body: Any) -> _Part:
        part = self.sequence(body)
        if most == 1:
            return _Part(part.first, part.last, _few(part.empty + (least == 0)), part.endless)
        if least == most and not part.endless and least * len(self._letters) <= _MOST:
            for _ in range(least - 1):
                part = self._joined(part, self.sequence(body))
            return part
        self._follow(part.last, part.first)
        return _Part(part.first, part.last, _few(part.empty + (least == 0)), endless=True)

    def _joined(self, one: _Part, other: _Part) -> _Part:
        self._follow(one.last, other.first)
        first = one.first + other.first * one.empty
        last = one.last * other.empty + other.last
        return _Part(first, last, _few(one.empty * other.empty), one.endless or other.endless)

    def _follow(self, last: Sequence[int], first: Sequence[int]) -> None:
        self._follows.update(product(last, first))

    def _taken(self, kind: Any, value: Any) -> Letters:
        """The characters that one place of an expression takes."""
        return Letters(letter for letter in self._alphabet if self._takes(kind, value, letter))

    def _takes(self, kind: Any, value: Any, letter: str) -> bool:
        if kind is op.ANY:
            return bool(self._flags & re.DOTALL) or letter != "\n"
        if kind is op.NOT_LITERAL:
            return not self._takes(op.LITERAL, value, letter)
        if kind is op.IN:
            negated = value[0][0] is op.NEGATE
            return negated != any(self._takes(one, what, letter) for one, what in value[int(negated) :])
        if kind is op.CATEGORY:
            return re.match(_CATEGORIES[value], letter) is not None
        spelt = {letter, *letter.lower(), *letter.upper()} if self._flags & re.IGNORECASE else {letter}
        low, high = (value, value) if kind is op.LITERAL else value
        return any(low <= ord(one) <= high for one in spelt)

    def ambiguous(self) -> bool:
        """Whether two walks with equal texts lead from a character back to itself by different steps."""
        after: dict[int, list[int]] = {at: [] for at in range(len(self._letters))}
        for one, other in self._follows:
            after[one].append(other)
        return any(self._splits(start, _round(start, after)) for start in after if self._steps < _STEPS)

    def _splits(self, start: int, within: dict[int, list[int]]) -> bool:
        """`within`: the steps of all loops through the start."""
        if any(self._follows[one, other] > 1 for one, others in within.items() for other in others):
            return True
        if not within:
            return False
        pairs = {(start, start): list(self._pairs(start, start, within))}
        waiting = [pair for pair in pairs[start, start] if pair[0] != pair[1]]
        while waiting and self._steps < _STEPS:
            pair = waiting.pop()
            if pair == (start, start):
                return True
            if pair not in pairs:
                pairs[pair] = list(self._pairs(*pair, within))
                waiting += pairs[pair]
        return False

    def _pairs(self, one: int, other: int, within: dict[int, list[int]]) -> Iterator[tuple[int, int]]:
        for first, second in product(within[one], within[other]):
            self._steps += 1
            if self._letters[first] & self._letters[second]:
                yield first, second


def _either(parts: Sequence[_Part]) -> _Part:
    return _Part(
        [at for part in parts for at in part.first],
        [at for part in parts for at in part.last],
        _few(sum(part.empty for part in parts)),
        any(part.endless for part in parts),
    )


def _few(ways: int) -> int:
    return min(ways, 2)


def _reached(start: int, after: dict[int, list[int]]) -> set[int]:
    found, waiting = set[int](), [start]
    while waiting:
        for at in after[waiting.pop()]:
            if at not in found:
                found.add(at)
                waiting.append(at)
    return found


def _round(start: int, after: dict[int, list[int]]) -> dict[int, list[int]]:
    """The steps between the characters that lie on a loop with this one."""
    before: dict[int, list[int]] = {at: [] for at in after}
    for one, others in after.items():
        for other in others:
            before[other].append(one)
    ours = _reached(start, after) & _reached(start, before)
    return {at: [next_ for next_ in after[at] if next_ in ours] for at in ours}
