"""Where the tokens of a text stand: what white space parts."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate, count
from operator import add


def find_tokens(text: str) -> tuple[list[str], Iterable[int]]:
    """The tokens in order, and where each begins."""
    tokens = text.split()
    ends = list(accumulate(map(len, tokens), initial=0))
    if ends.pop() + len(tokens) - 1 == len(text):
        return tokens, map(add, ends, count())  # One space, most often, behind each but the last.
    starts, at = [], 0
    for token in tokens:
        starts.append(text.find(token, at))
        at = starts[-1] + len(token)
    return tokens, starts
