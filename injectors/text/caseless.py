"""Patterns that ignore case. In lower case a text in ASCII is searched several times as fast."""

from __future__ import annotations

import re
import sys
from functools import lru_cache

_lower = lru_cache(4)(str.lower)
"""Cached: a scan asks for the matches in each sentence of one text."""


class CaselessPattern:
    """A pattern in lower case, for who needs no more of a match than its places and groups."""

    __slots__ = ("_any", "_lower")

    def __init__(self, pattern: str, flags: re.RegexFlag = re.NOFLAG) -> None:
        self._any = re.compile(pattern, flags | re.IGNORECASE)
        self._lower = re.compile(pattern, flags)

    def match(self, text: str, start: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        """The match at `start`. Of a text in ASCII it holds the letters in lower case."""
        if text.isascii():
            return self._lower.match(_lower(text), start, end)
        return self._any.match(text, start, end)

    def search(self, text: str, start: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        """The first match from `start` on. Of a text in ASCII it holds the letters in lower case."""
        if text.isascii():
            return self._lower.search(_lower(text), start, end)
        return self._any.search(text, start, end)
