"""Descriptions that name a fact instead of saying what a call does: `Current status of a flight.`"""

from __future__ import annotations

import re
from collections.abc import Iterable

from crosswind.injectors.guard.tool_words import ACTING, ALSO_NOUNS, FACTS, SELECTORS, WRITING

_NOUN_PHRASE = re.compile(
    r"\W*((?:[a-z][a-z'’/-]*[ ,]+){1,6}?)(?:of|between|per|for|in|on|at|near|from|by|that|who|which|with)\b"
)
_BROKEN = re.compile(r"\b(?:a|an|the|this|that|these|one|some|your|my|its?|them|to|all|into|up|off|out)\b")
"""Words that stand between a verb and its object, and in no noun phrase before its first preposition."""

SINGULAR = ("ss", "us", "is")


def names_a_fact(sentence: str, name: Iterable[str]) -> bool:
    """Whether a sentence in lower case begins with a noun phrase for facts: a word of FACTS or a plural, and
    then a preposition. A plural alone could be a verb (`Resigns from …`) if the tool's `name` doesn't have
    it.
    """
    found = _NOUN_PHRASE.match(sentence)
    if found is None or _BROKEN.search(found[1]):
        return False
    words = re.findall(r"[a-z][a-z'’/-]*", found[1])
    if _is_verb(words[0], ACTING | WRITING) or any(_is_verb(one, _NO_NOUNS) for one in words[1:]):
        return False
    head = words[-1]
    plural = head.endswith("s") and not head.endswith(SINGULAR)
    return head in FACTS or (plural and (len(words) > 1 or head in name))


_NO_NOUNS = WRITING | (ACTING - ALSO_NOUNS)


def _is_verb(word: str, verbs: frozenset[str]) -> bool:
    """Whether a word is a form of one of the verbs, and not one of FACTS."""
    return word not in FACTS and not verbs.isdisjoint((word, word[:-1], word[:-2], word[:-3] + "y"))


def only_selects(parameters: Iterable[str]) -> bool:
    """Whether all parameters say what is asked for, and none brings something to be stored or done."""
    return all(name.split("_")[-1] in SELECTORS or name.startswith("include_") for name in parameters)
