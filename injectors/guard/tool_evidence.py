"""What a tool's own name, description and parameters say of its class.

Two kinds of evidence are weighed, and the worse counts: a tool is read-only only if something says that it
reads and nothing says that it writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any

from crosswind.injectors.conversation import ToolHints, ToolSchema
from crosswind.injectors.guard import foreign_tool_evidence
from crosswind.injectors.guard.description_evidence import judge_description
from crosswind.injectors.guard.evidence import Evidence, Says
from crosswind.injectors.guard.fact_descriptions import only_selects
from crosswind.injectors.guard.foreign_tool_words import fold
from crosswind.injectors.guard.known_tools import KNOWN
from crosswind.injectors.guard.tool_words import (
    ACTING,
    AFTER_A_NOUN,
    ALSO_NOUNS,
    BEFORE_A_FACT,
    CALCULATING,
    CHOICES,
    COMMANDS,
    DATABASES,
    FACTS,
    HEADS,
    INTERPRETERS,
    JOINING,
    PARTICLES,
    READING,
    SURELY_READING,
    UNREPEATABLE,
    WRITING,
)
from crosswind.injectors.targets import ToolClass

_SEGMENT = re.compile(r"\.|:|/|__")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def classify_by_evidence(name: str, schema: ToolSchema | None = None) -> ToolClass:
    """The class of a tool by its name and, where it is declared, by its schema."""
    if schema is None:
        return _weigh(name, "", (), (), None)
    parameters = sorted(_snake(key) for key in _properties(schema.parameters))
    choices = sorted(set(_choices(schema.parameters)))
    return _weigh(name, schema.description[:_MOST_TEXT], tuple(parameters), tuple(choices), schema.hints)


def find_writing_evidence(name: str, schema: ToolSchema | None = None) -> str:
    """What of a tool says that it writes: the word, and the text that has it. Empty where nothing does."""
    if _by_name(name).says is Says.WRITES and KNOWN.get(name) in (None, ToolClass.DESTRUCTIVE):
        return _name_evidence(_by_name(name), "name")
    if KNOWN.get(name) is ToolClass.DESTRUCTIVE:
        return "its name, which is known"
    found = _by_description(schema.description[:_MOST_TEXT] if schema else "", name)
    if found.says is Says.WRITES:
        return _name_evidence(found, "description")
    hinted = schema is not None and _by_hints(schema.hints) is ToolClass.DESTRUCTIVE
    return "its annotations" if hinted else ""


def _name_evidence(found: Evidence, text: str) -> str:
    return f"{found.word!r} in its {text}" if found.word else f"its {text}"


_MOST_TEXT = 4000
"""Characters of a description that are read."""


@lru_cache(maxsize=4096)
def _weigh(
    name: str,
    description: str,
    parameters: tuple[str, ...],
    choices: tuple[str, ...],
    hints: ToolHints | None,
) -> ToolClass:
    by_name, by_description = _by_name(name).says, _by_description(description, name).says
    said = {by_name, by_description, _by_parameters(parameters, choices)}
    if name in KNOWN:
        said.discard(by_name)
        said.add(_OF_CLASS[KNOWN[name]])
        if KNOWN[name] is ToolClass.READ_ONLY and by_description is Says.UNSURE:
            said.discard(by_description)
    by_hints = _by_hints(hints)
    if by_hints is ToolClass.DESTRUCTIVE or Says.WRITES in said:
        # An idempotent write says so itself: of a name that deletes, nobody's word is taken.
        idempotent = by_hints is ToolClass.IDEMPOTENT and by_name is not Says.UNSURE
        return ToolClass.IDEMPOTENT if idempotent else ToolClass.DESTRUCTIVE
    if Says.READS_ONLY in said:
        return ToolClass.READ_ONLY
    if Says.UNSURE in said:
        return ToolClass.UNKNOWN
    if by_hints is not None:
        return by_hints
    reads = (
        Says.READS in said
        or (by_description is Says.TELLS and by_name is not Says.PERHAPS_ACTS)
        or (by_description is Says.NAMES_A_FACT and only_selects(parameters))
    )
    return ToolClass.READ_ONLY if reads else ToolClass.UNKNOWN


def _by_description(description: str, name: str) -> Evidence:
    words = words_of(name)
    reads = _by_name(name).says is Says.READS and not SURELY_READING.isdisjoint(words)
    found = judge_description(description, tuple(words), name_reads=reads)
    if found.says in (Says.NOTHING, Says.NAMES_A_FACT):
        foreign = foreign_tool_evidence.judge_description(description)
        return found if foreign is Says.NOTHING else Evidence(foreign)
    return found


_OF_CLASS = {
    ToolClass.READ_ONLY: Says.READS,
    ToolClass.UNKNOWN: Says.UNSURE,
    ToolClass.DESTRUCTIVE: Says.WRITES,
}


def _by_hints(hints: ToolHints | None) -> ToolClass | None:
    """MCP's annotations; None where they say nothing. A writing tool destroys unless it says otherwise."""
    if hints is None or hints.read_only is None:
        return None
    if hints.read_only:
        return ToolClass.DESTRUCTIVE if hints.destructive else ToolClass.READ_ONLY
    if hints.idempotent and hints.destructive is False:
        return ToolClass.IDEMPOTENT
    return ToolClass.DESTRUCTIVE


def words_of(name: str) -> list[str]:
    """The words of the last part of a name, in lower case: of `shop.orders__getById`, get, by and id."""
    return list(_short_words(name) if len(name) <= _LONGEST_NAME else _list_words(name))


_LONGEST_NAME = 128
"""Characters of the longest name whose words are remembered."""


def _list_words(name: str) -> list[str]:
    segments = [segment for segment in _SEGMENT.split(name) if segment]
    return [word.lower() for word in _WORD.findall(segments[-1])] if segments else []


_short_words = lru_cache(4096)(_list_words)


@lru_cache(maxsize=4096)
def _by_name(name: str) -> Evidence:
    words = words_of(name)
    if not words:
        return Evidence(Says.NOTHING)
    joined = [word for joint, word in pairwise(words) if joint in JOINING]
    writing = [*(word for word in words if word in WRITING), *(word for word in joined if word in ACTING)]
    if writing:
        return Evidence(Says.WRITES, writing[0])
    foreign = Evidence(foreign_tool_evidence.judge_name(words_of(fold(name))))
    if foreign.says in (Says.READS, Says.WRITES):
        return foreign
    if _may_do_anything(words):
        return Evidence(Says.UNSURE)
    if words[0] in READING:
        return Evidence(Says.NOTHING if joined else Says.READS)
    found = Evidence(Says.PERHAPS_ACTS) if _may_only_compute(words) else _by_later_words(words)
    return foreign if found.says is Says.NOTHING else found


def _may_only_compute(words: list[str]) -> bool:
    """Whether the one verb of a name, first or last, may be a noun or may compute: `leave_balance`."""
    first, last = words[0], words[-1]
    if not (ACTING - ALSO_NOUNS).isdisjoint(words[1:-1]):
        return False
    if first in CALCULATING or (first in BEFORE_A_FACT and last in FACTS):
        return True
    return last in CALCULATING and first not in ACTING


def _may_do_anything(words: list[str]) -> bool:
    interprets = bool(INTERPRETERS.intersection(words)) and words[0] not in READING
    queries = "query" in words and bool(DATABASES.intersection(words))
    misread = len(words) > 1 and words[1] in PARTICLES.get(words[0], ())
    return interprets or queries or misread or bool(UNREPEATABLE.intersection(words))


def _by_later_words(words: list[str]) -> Evidence:
    """Of a name that doesn't begin with a reading verb."""
    first, last = words[0], words[-1]
    if first in ACTING:
        reads = len(words) > 1 and first in ALSO_NOUNS and last in HEADS
        return Evidence(Says.READS) if reads else Evidence(Says.WRITES, first)
    reading = next((at for at, word in enumerate(words) if word in AFTER_A_NOUN), None)
    acting = next((word for word in words[1:reading] if word in ACTING - ALSO_NOUNS), None)
    if acting is not None:
        return Evidence(Says.WRITES, acting)
    if reading is not None:
        return Evidence(Says.READS)
    return Evidence(Says.WRITES, last) if last in ACTING - ALSO_NOUNS else Evidence(Says.NOTHING)


def _by_parameters(names: tuple[str, ...], choices: tuple[str, ...]) -> Says:
    if COMMANDS.intersection(names):
        return Says.UNSURE
    if any(_writes_as_choice(value) for value in choices):
        return Says.UNSURE
    return Says.NOTHING


def _writes_as_choice(value: str) -> bool:
    words = words_of(value)
    acts = bool(words) and words[0] in (ACTING - ALSO_NOUNS if len(words) > 1 else ACTING)
    return value == _ANYTHING or acts or any(word in WRITING for word in words)


_ANYTHING = "*"
"""Stands for the values of a choice that lists none."""


def _properties(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    properties = parameters.get("properties")
    return properties if isinstance(properties, dict) else {}


def _choices(parameters: Mapping[str, Any]) -> Iterator[str]:
    """The values of parameters that choose what the tool does."""
    for key, schema in _properties(parameters).items():
        name = _snake(key)
        if name not in CHOICES or not isinstance(schema, dict):
            continue
        values = schema.get("enum")
        if isinstance(values, list):
            yield from (value for value in values if isinstance(value, str))
        elif name not in ("mode", "verb"):
            yield _ANYTHING


def _snake(name: object) -> str:
    return "_".join(_WORD.findall(str(name))).lower()
