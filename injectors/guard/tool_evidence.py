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
from crosswind.injectors.guard.evidence import Says
from crosswind.injectors.guard.fact_descriptions import names_a_fact, only_selects
from crosswind.injectors.guard.foreign_tool_evidence import judge_description, judge_name
from crosswind.injectors.guard.foreign_tool_words import fold
from crosswind.injectors.guard.known_tools import KNOWN
from crosswind.injectors.guard.tool_words import (
    ACTING,
    ADJECTIVES,
    AFTER_A_CHANGE,
    AFTER_A_NOUN,
    ALSO_NOUNS,
    BEFORE_A_FACT,
    CALCULATING,
    CHOICES,
    COMMANDS,
    COMPUTED,
    DATABASES,
    FACTS,
    HEADS,
    INTERPRETERS,
    JOINING,
    OF_THE_ANSWER,
    PARTICLES,
    READING,
    TELLING,
    UNREPEATABLE,
    UNTELLING,
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
    by_name, by_description = _by_name(name), _by_description(description, name)
    if by_description in (Says.NOTHING, Says.NAMES_A_FACT):
        foreign = judge_description(description)
        by_description = by_description if foreign is Says.NOTHING else foreign
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
def _by_name(name: str) -> Says:
    words = words_of(name)
    if not words:
        return Says.NOTHING
    joined = [word for joint, word in pairwise(words) if joint in JOINING]
    if WRITING.intersection(words) or any(word in ACTING for word in joined):
        return Says.WRITES
    foreign = judge_name(words_of(fold(name)))
    if foreign in (Says.READS, Says.WRITES):
        return foreign
    if _may_do_anything(words):
        return Says.UNSURE
    if words[0] in READING:
        return Says.NOTHING if joined else Says.READS
    found = Says.PERHAPS_ACTS if _may_only_compute(words) else _by_later_words(words)
    return foreign if found is Says.NOTHING else found


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


def _by_later_words(words: list[str]) -> Says:
    """Of a name that doesn't begin with a reading verb."""
    first, last = words[0], words[-1]
    if first in ACTING:
        return Says.READS if len(words) > 1 and first in ALSO_NOUNS and last in HEADS else Says.WRITES
    reading = next((at for at, word in enumerate(words) if word in AFTER_A_NOUN), None)
    if any(word in ACTING - ALSO_NOUNS for word in words[1:reading]):
        return Says.WRITES
    if reading is not None:
        return Says.READS
    if last in ACTING:
        return Says.WRITES if last not in ALSO_NOUNS else Says.NOTHING
    return Says.NOTHING


_WORDS = re.compile(r"[a-z][a-z'-]*")
_PURPOSE = re.compile(r"\b(?:when|for)\b")
_FIRST_WORD = re.compile(r"\W*(?:this (?:function|tool|method)\s+)?(\w+)")
_SENTENCE = re.compile(r"[.!?](?:\s|$)|\n|;|•")
_LEAD = re.compile(
    r"^(?:[\s\-*#>\d)`]*)(?:(?:this|the|a|an|it|use|used|using|useful|fast|simple|quickly|tool|tools|function|api|"
    r"endpoint|method|can|be|is|will|to|for|that|which|and|lets|let|you|allows|helps|when|also|then|please|"
    r"automatically|safely|always|be|able|your|needs?|need)\s+)*",
)
_DOING = frozenset(
    """
    run runs execute executes perform performs do does make makes issue issues submit
    """.split()
)
"""What is done is said by the words behind: `Run a read-only query`, `Performs a search`."""

_ABBREVIATED = re.compile(r"\b(?:e\.g|i\.e)\.?")
_ADVICE = re.compile(
    r"\W*(?:use (?!th(?:is|e)\b|it\b|to\b)|(?:always )?call this|do not|don't|never|note\b|if\b)"
)
"""The beginnings of sentences that speak of the call, or of other tools."""

_ARTICLES = ("a ", "an ", "the ")

_READ_ONLY = re.compile(r"\bread[- ]?only\b|\bselect (?:query|queries|statement)")
_NEGATED = re.compile(r"\b(?:not|never|no|n't|non)\W+(?:\w+\W+)?$")
_ALSO = re.compile(
    r"\b(?:and|or|then|also|will|and then|or else|can|may|it|to)\s+(?:also\s+|then\s+)?([a-z]+)\b"
)
_CONDITION = re.compile(
    r"\b(?:not|never|without|n't|instead|unless|before|after|if|when|rather|prefer|use|see|for|want|wants|need|"
    r"needs|how|required|useful|must|should|only|whether|where|who|you)\b"
)


@lru_cache(maxsize=4096)
def _by_description(description: str, name: str) -> Says:
    """What the description's sentences begin with, and what they join to it by `and`, `or` and the like."""
    text = _ABBREVIATED.sub("for example", description.lower()).rpartition("tool description:")[2]
    found: list[Says] = []
    for sentence in _SENTENCE.split(text):
        if not sentence.strip() or _ADVICE.match(sentence):
            continue
        found.append(_head(sentence))
        if not found[1:] and found[0] is Says.NOTHING and names_a_fact(sentence, words_of(name)):
            found[0] = Says.NAMES_A_FACT
        if found[-1] is Says.WRITES or _writes_besides(sentence):
            return Says.WRITES
    said = _READ_ONLY.search(text)
    if said is not None and not _NEGATED.search(text[: said.start()]):
        return Says.READS_ONLY
    if found[:1] == [Says.UNSURE]:
        return Says.UNSURE
    if found[:1] in ([Says.READS], [Says.NAMES_A_FACT]):
        return found[0]
    return Says.TELLS if not {Says.READS, Says.TELLS}.isdisjoint(found) else Says.NOTHING


def _head(sentence: str) -> Says:
    """What the first verb of a sentence says."""
    lead = _LEAD.match(sentence)
    began = sentence[: lead.end()] if lead else ""
    rest = sentence[len(began) :]
    words = _WORDS.findall(rest)
    if not words or _PURPOSE.search(began):
        words = words[:1]
    if words and words[0] in _DOING:
        asked = any(_base(word) in READING for word in words[1:5])
        general = not DATABASES.isdisjoint(words) or not INTERPRETERS.isdisjoint(words)
        return Says.READS if asked and not general else Says.UNSURE
    if not words:
        return Says.NOTHING
    verb = _base(words[0])
    if verb in WRITING:
        return Says.WRITES
    if words[0] in ADJECTIVES and began.endswith(_ARTICLES):
        return Says.NOTHING
    return _by_verb(verb, words)


def _by_verb(verb: str, words: list[str]) -> Says:
    """What a sentence says whose first word is a form of this verb."""
    if verb in OF_THE_ANSWER:
        return Says.TELLS if AFTER_A_CHANGE.isdisjoint(words) else Says.NOTHING
    if verb in CALCULATING:
        return Says.NOTHING if COMPUTED.isdisjoint(words[1:6]) else Says.READS
    if verb in TELLING:
        return Says.READS
    if verb in UNTELLING:
        return Says.NOTHING
    # A noun, if it isn't the sentence's own verb: `Order details of a customer`.
    acts = verb in ACTING and (words[0] != verb or verb not in ALSO_NOUNS or _takes_an_object(words))
    return Says.WRITES if acts and (verb not in ALSO_NOUNS or _takes_an_object(words)) else Says.NOTHING


def _takes_an_object(words: list[str]) -> bool:
    return len(words) > 1 and words[1] in _OBJECTS


_OBJECTS = frozenset(re.findall(r"\w+", "a an the this that one new some your my it them all to"))


def _writes_besides(sentence: str) -> bool:
    """Whether a sentence joins a writing verb: `Find the record and delete it`."""
    first = _FIRST_WORD.match(sentence)
    third_person = first is not None and _base(first[1]) != first[1]
    for found in _ALSO.finditer(sentence):
        word = found[1]
        verb = _base(word)
        joint = sentence[found.start() :].split(None, 1)[0]
        words = _WORDS.findall(sentence[found.start(1) :])
        acts = verb in ACTING - UNTELLING - TELLING and _takes_an_object(words)
        if verb not in WRITING and not acts:
            continue
        # `Searches for and deletes`: both are what the tool does, whatever stands between them.
        parallel = joint in ("and", "then") and third_person and word != verb and verb in WRITING
        if word.endswith("ed") or (not parallel and _CONDITION.search(sentence[: found.start()])):
            continue
        if joint in ("to", "it", "can", "may", "will") and found.start() > 40:
            continue
        return True
    return False


_IRREGULAR = {
    "running": "run",
    "getting": "get",
    "putting": "put",
    "setting": "set",
    "has": "has",
    "is": "is",
}


@lru_cache(maxsize=4096)
def _base(word: str) -> str:
    """The verb of which this is a form: creates, creating -> create. The word itself, if it is none."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    known = TELLING | WRITING | ACTING | CALCULATING
    for ending, put in (("", ""), ("s", ""), ("es", ""), ("ies", "y"), ("ing", ""), ("ing", "e")):
        if word.endswith(ending) and (base := word[: len(word) - len(ending)] + put) in known:
            return base
    return word


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
