"""Quantities that a message asks for: what its user may have two beliefs about."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import UserTarget
from crosswind.injectors.text.edits import unprotected
from crosswind.injectors.text.entities import Span

BELIEFS = {
    "many": (("a single one", "several"), ("hardly any", "quite a few"), ("several", "none at all")),
    "much": (("next to nothing", "a great deal"), ("very little", "rather a lot")),
}
"""Pairs that can't both be true. In words of no figure: a wrong number could be taken for a fact."""

_NO_NOUNS = "is|are|was|were|do|does|did|has|have|can|could|may|will|would|should|it|we|you|they|of|more"
_ASKED = re.compile(rf"\bhow (many|much)\b(?: (?!(?:{_NO_NOUNS})\b)[a-z]+)?", re.IGNORECASE)


def asked(target: UserTarget) -> Iterator[Span]:
    """The quantities that the user asks for in their own words, each phrase once."""
    seen = set()
    for match in unprotected(_ASKED, target.text, target.protected):
        if match.group() in target.own and match.group() not in seen:
            seen.add(match.group())
            yield match.span()


def is_asked(phrase: str) -> bool:
    """Whether a phrase is a quantity that is asked for."""
    return _ASKED.fullmatch(phrase) is not None


def doubt(phrase: str, rng: Stream) -> str:
    """Both beliefs about the quantity, and that they are beliefs."""
    word = phrase.split()[1].lower()
    one, other = rng.shuffled(rng.choice(BELIEFS[word]))
    return f"I believe it is {one}, then again I was told it is {other}, so I am not sure."


def settled(phrase: str) -> str:
    """What the user settles on: the belief counts for nothing."""
    return f"what you find about {phrase[0].lower()}{phrase[1:]}"
