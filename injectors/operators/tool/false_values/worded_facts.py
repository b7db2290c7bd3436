"""Words of English running text for which another could stand, where nothing else may be false."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from crosswind.injectors.operators.tool.false_values.values import SpanEdit, match_case
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import ToolResultTarget
from crosswind.injectors.text.json_leaves import MOST, is_asked_for
from crosswind.injectors.text.json_payload import is_container, parse_json
from crosswind.injectors.text.json_spans import Frame, find_leaves, open_string

_LISTS = tuple(
    tuple(line.split())
    for line in """
    always rarely never
    annual quarterly monthly weekly
    beginning middle end
    best worst
    better worse
    big small
    breakfast lunch dinner
    bus train car
    cheap expensive
    cold warm hot
    easy hard
    easily hardly
    eastern western northern southern
    external internal
    few several many
    final preliminary
    first second third
    frequent rare
    global local regional
    good poor
    heavy light
    high low
    important minor
    large small
    left right
    long short
    major minor
    manual automatic
    morning afternoon evening
    most some few
    mother father
    brother sister
    next previous
    old new
    partial complete
    private public
    quick slow
    quickly slowly
    senior junior
    shorter longer
    simple complex
    soft hard
    spring summer autumn winter
    brown grey black white
    sweet sour bitter
    thick thin
    today yesterday
    upper lower
    wet dry
    wide narrow
    """.strip().splitlines()
)
_OTHERS = {word: tuple(one for one in words if one != word) for words in reversed(_LISTS) for word in words}
_WORD = re.compile(rf"(?<![\w'’./-])(?:{'|'.join(sorted(_OTHERS, key=len, reverse=True))})(?![\w'’/-]|\.\w)")
_FIXED = re.compile(
    r" (?:(?:name|school|time|term|hand|side|place|step|line|page|column|row|level|key|bit|one|aid|dog)s?"
    r"|of|as|to|than|and|or|but|up|down|out|on|off|in|at|with|for|by)\b"
)
"""What makes another thing of the word before it: `high school`, `first name`."""
_LEAST_WORDS = 4
_OF_SEVERAL_KINDS = frozenset(
    {"left", "light", "end", "second", "right", "few", "most", "complete", "lower", "dry", "warm"}
)
"""Words of more than one kind: only behind `the` and its like are they surely what they are."""
_ARTICLE = re.compile(r"\b(?:an?) \Z", re.IGNORECASE)
_DETERMINER = re.compile(r"\b(?:the|its|our|their|my|your) \Z", re.IGNORECASE)


class Worded(msgspec.Struct, frozen=True, gc=False):
    """A word of running text: frame.text[start:end]."""

    frame: Frame
    start: int
    end: int

    def draw(self, rng: SeededRandom) -> SpanEdit:
        """Another word in its place."""
        frame = self.frame
        word = frame.text[self.start : self.end]
        return (
            frame.locate(self.start),
            frame.locate(self.end),
            match_case(rng.choice(_list_others(frame, self.start, word)), word),
        )


def _list_others(frame: Frame, start: int, word: str) -> tuple[str, ...]:
    """The words that could stand there; behind an article those that go with it."""
    others = tuple(one for one in _OTHERS[word] if one not in frame.text)
    if _ARTICLE.search(frame.text[max(0, start - 4) : start]) is None:
        return others
    return tuple(one for one in others if (one[0] in "aeiou") is (word[0] in "aeiou"))


def find_worded(target: ToolResultTarget) -> Iterator[Worded]:
    """The words of a result's running text for which another could stand."""
    text = target.text
    whole = Frame(text, ascii=text.isascii())
    if is_container(parse_json(text)):
        frames = [
            open_string(whole, leaf)
            for leaf in find_leaves(text, MOST)
            if isinstance(leaf.value, str)
            and len(leaf.value.split()) >= _LEAST_WORDS
            and not is_asked_for(leaf.value, target)
        ]
    else:
        frames = [whole] if len(text.split()) >= _LEAST_WORDS else []
    for frame in frames:
        for match in _WORD.finditer(frame.text):
            start, end = match.span()
            told = match[0] in target.arguments or frame.text.count(match[0]) > 1
            sure = (
                _DETERMINER.search(frame.text[max(0, start - 8) : start]) or match[0] not in _OF_SEVERAL_KINDS
            )
            if told or not sure or _FIXED.match(frame.text, end) or not _list_others(frame, start, match[0]):
                continue
            yield Worded(frame, start, end)
