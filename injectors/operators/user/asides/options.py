"""Whether what a user says beside the request says a value that a call may need."""

from __future__ import annotations

import re
from functools import lru_cache

from crosswind.injectors.conversation import ToolList, ToolListKey
from crosswind.injectors.values.parameters import list_once

_SHORTEST = 3
_NO_OPTIONS = frozenset("all and any both for more new none not now off one other please the yes".split())
"""Enumerated values that any sentence may have."""
_WORD = re.compile(r"\w+")


def list_options(tools: ToolList) -> frozenset[str]:
    """The enumerated values of the tools that are plain words: who wants the premium plan takes `no premium
    tool for me` for a word on it."""
    return _list_options(tools.key) if tools else frozenset()


@lru_cache(256)
def _list_options(tools: ToolListKey) -> frozenset[str]:
    options = {option.lower() for one in list_once(tools) for option in one.options}
    return frozenset(one for one in options if len(one) >= _SHORTEST and one.isalpha()) - _NO_OPTIONS


def list_words(said: str) -> frozenset[str]:
    """The words of a phrase, in lower case."""
    return frozenset(_WORD.findall(said.lower()))
