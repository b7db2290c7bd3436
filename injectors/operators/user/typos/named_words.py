"""The words that the declared tools speak of: their names, their parameters' names, and what these take."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from functools import lru_cache
from typing import Any, NamedTuple

from crosswind.injectors.conversation import ToolList, ToolListKey
from crosswind.injectors.values.parameters import ValueType, list_once, split_name

SHORTEST = 3
"""Letters of the shortest word of a name that is looked at."""

_TEXT_WORDS = frozenset(
    """
    answer bio body caption code command comment condition conditions content criteria description details
    expression feedback filter formula goal goals input instruction instructions interests keyword keywords
    message msg mood note notes pattern phrase preferences prompt q query question questions reason request
    requirements review search sentence sql status style subject summary symptom symptoms task term text theme
    title topic tweet
    """.split()
)
"""Words of parameters that take a text as the user says it."""
_QUESTION_WORDS = frozenset(
    """
    content input keyword keywords message msg phrase prompt q query question questions search sentence text
    """.split()
)
"""Words of parameters that a whole question may fill."""
_SAID = frozenset(
    {"inquiries", "inquiry", "message", "messages", "queries", "query", "question", "questions", "utterance"}
)
"""Words of descriptions that speak of what the user says."""
_ACTION_WORDS = frozenset({"action", "command", "method", "operation", "verb"})
"""Words of parameters that take a verb."""
_WORD = re.compile(r"[^\W\d_]+")
_DEPTH = 8
EARLY = 4
"""How many words of a description say what its parameter is."""


class NamedWords(NamedTuple):
    """Words in lower case."""

    names: frozenset[str]
    """Of the tools' and parameters' names, and of enumerated values."""
    described: frozenset[str]
    """Of the parameters' descriptions, examples and defaults: some of them are values."""
    takes_text: bool
    """Whether a parameter takes a text as the user says it."""
    takes_question: bool
    """Whether one may take a whole question."""
    takes_message: bool
    """Whether one is described as what the user says, though its name isn't: it may take all of it."""
    takes_action: bool
    """Whether one takes a verb, such as the user's own."""


def read_named_words(tools: ToolList) -> NamedWords:
    return _read(tools.key)


@lru_cache(256)
def _read(declared: ToolListKey) -> NamedWords:
    parameters = list_once(declared)
    options = (option for one in parameters for option in one.options)
    names = (*(tool.name for tool in declared.tools), *(one.name for one in parameters), *options)
    words = {word for name in names for word in split_name(name) if len(word) >= SHORTEST}
    free = [one for one in parameters if one.type is ValueType.WORD]
    return NamedWords(
        frozenset(words | {f"{word}s" for word in words} | {word.removesuffix("s") for word in words}),
        _read_texts([tool.parameters for tool in declared.tools]),
        any(not _TEXT_WORDS.isdisjoint(one.words) for one in free),
        any(not _QUESTION_WORDS.isdisjoint(one.words) for one in free),
        any(_takes_message(tool.parameters, {one.name for one in free}, _DEPTH) for tool in declared.tools),
        any(not _ACTION_WORDS.isdisjoint(one.words) for one in free),
    )


def _takes_message(schema: Any, free: Set[str], depth: int) -> bool:
    """Whether a text of any words within a schema is described as what the user says, and not named so."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping) or depth == 0:
        return False
    for name, member in properties.items():
        if not isinstance(member, Mapping):
            continue
        described = {word.lower() for word in _WORD.findall(str(member.get("description", "")))[:EARLY]}
        plain = name in free and "string" in str(member.get("type", "string"))
        if plain and not _SAID.isdisjoint(described) and _TEXT_WORDS.isdisjoint(split_name(str(name))):
            return True
        if any(_takes_message(one, free, depth - 1) for one in (member, member.get("items"))):
            return True
    return False


def _read_texts(schemas: Sequence[Any]) -> frozenset[str]:
    """The words of every text within the schemas that is no name."""
    texts: list[str] = []
    level: list[Any] = [*schemas]
    for _ in range(_DEPTH + 1):
        below: list[Any] = []
        for part in level:
            if isinstance(part, str):
                texts.append(part)
            elif isinstance(part, dict):
                below += part.values()
            elif isinstance(part, list):
                below += part
        level = below
    return frozenset(map(str.lower, _WORD.findall(" ".join(texts))))
