"""What in a message can be contradicted or doubted without harm."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator

from crosswind.injectors.operators.user.opposites import OTHERS
from crosswind.injectors.targets import UserTarget
from crosswind.injectors.text.edits import unprotected
from crosswind.injectors.text.entities import Span, numbers

QUOTES = re.compile(r"[\"'`“”‘’«»„「」]")

_CHOICE = re.compile(rf"(?<![\w'’-])(?:{'|'.join(OTHERS)})(?![\w'’-])")
_TURNED = re.compile(
    r"\b(?:no|not|never|nor|without|except|instead|rather|or|than)\b|n['’]t\b", re.IGNORECASE
)
_VALUE = re.compile(r"[\d@]")
_LONGEST = 80


def choices(target: UserTarget, sentences: list[Span]) -> Iterator[Span]:
    """Words of the user's own that stand for one of several, once in the message and in no sentence that
    turns round."""
    found = list(unprotected(_CHOICE, target.text, target.protected, whole=True))
    times = Counter(match.group() for match in found)
    turned = {span: _TURNED.search(target.text, *span) is not None for span in sentences}
    own = Counter(_CHOICE.findall(target.own))
    for match in found:
        word = match.group()
        if times[word] == own[word] == 1 and not turned[around(match.start(), sentences)]:
            yield match.span()


def values(target: UserTarget) -> Iterator[Span]:
    """Ids, numbers and addresses that can be said again as they are."""
    known = numbers(target.own)
    for start, end in target.protected:
        value = target.text[start:end]
        if end - start > _LONGEST or not _VALUE.search(value) or QUOTES.search(value):
            continue
        if len(value.split()) == 1 and numbers(f"or {value}, or") <= known:
            yield start, end


def around(at: int, sentences: list[Span]) -> Span:
    """The sentence that the position is in."""
    return sentences[bisect_right(sentences, at, key=lambda span: span[0]) - 1]
