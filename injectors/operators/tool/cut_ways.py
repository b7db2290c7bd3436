"""In which ways a tool's result may be cut, as its system cuts: what it may lack, and what it always has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from crosswind.injectors.guard.tool_evidence import words_of
from crosswind.injectors.guard.tool_words import ACTING, READING, WRITING
from crosswind.injectors.operators.tool.facts import split_field
from crosswind.injectors.operators.tool.false_values.sensors import COMMANDING
from crosswind.injectors.operators.words import fields
from crosswind.injectors.operators.words.results import COMMANDS
from crosswind.injectors.stacks.kinds import read_arguments
from crosswind.injectors.stacks.model import Shape, ToolKind, Way
from crosswind.injectors.stacks.shapes import find_shape
from crosswind.injectors.targets import ToolResultTarget
from crosswind.injectors.text.json_payload import is_prose


def is_word(text: str) -> bool:
    """Whether a result is a single word, id or number, which no system cuts."""
    return (
        len(text) < LONGEST_WORD
        and text.isascii()
        and text[0] not in "{["
        and not any(map(str.isspace, text))
    )


LONGEST_WORD = 120
LONG = 400
"""Characters of JSON that some limit may cut; what is shorter loses whole fields or elements."""


def list_ways(target: ToolResultTarget, text: str, value: Any, kinds: frozenset[ToolKind]) -> list[Way]:
    """The ways in which such a result of a system of these kinds may be cut; those that systems prefer stand
    more often."""
    shape = find_shape(text)
    local = is_local(target.tool, kinds)
    if shape is Shape.TEXT:
        return _list_ways_of_text(text, local=local) if len(text) >= LEAST_OUTPUT else []
    at_limit = [Way.BYTES] if len(text) >= LONG else []
    if shape is Shape.MCP:
        return [Way.PART, Way.PART, *at_limit]
    if isinstance(value, dict):
        # What lacks a page or a field is seldom cut in the middle of its JSON.
        device = ToolKind.DEVICE in kinds
        return _list_ways_of_object(target, value, local=local, device=device) * SELDOM + at_limit
    if len(value) < LEAST_LIST:
        return []
    named = local and all(isinstance(one, str) for one in value)
    return [*([Way.ITEMS, Way.ITEMS] if named else []), Way.REST_TEXT, *at_limit]


def _list_ways_of_text(text: str, *, local: bool) -> list[Way]:
    lines = "\n" in text.strip()
    found = [Way.LINES, Way.LINES, Way.LINES] if lines else []
    found += [] if lines and (local or not is_prose(text)) else [Way.TAIL, Way.TAIL]
    return found + ([Way.MIDDLE] if len(text) >= LEAST_MIDDLE else [])


def _list_ways_of_object(
    target: ToolResultTarget, value: dict[str, Any], *, local: bool, device: bool
) -> list[Way]:
    found: list[Way] = []
    receipt, name = changes_something(target), find_list(value)
    named = name is not None and all(isinstance(one, str) for one in value[name])
    comes_in_parts = not receipt and (device or not local)
    pages = comes_in_parts and name is not None and _is_answer(target, name, value[name])
    if not receipt and find_string(value) is not None:
        found += [Way.STRING, Way.STRING]
    found += [Way.ITEMS, Way.ITEMS] if named and local else []
    found += [Way.PAGE, Way.PAGE] if pages else []
    is_record = comes_in_parts and not pages and len(value) >= LEAST_FIELDS
    if is_record and next(_find_free(target, value, device=device), None) is not None:
        found += [Way.SIGNALS, Way.SIGNALS] if device else [Way.FIELDS, Way.FIELDS]
    return found


LEAST_LIST = 4
"""Elements of the shortest list that is cut."""
LEAST_FIELDS = 3
"""Members of the smallest record that may lack one: what a system puts together from several sources."""
SELDOM = 2
"""How often a service's own ways stand for each cut of its JSON at a limit."""


def _is_answer(target: ToolResultTarget, name: str, elements: list[Any]) -> bool:
    """Whether a list is what was asked for, and no part of a single record."""
    if len(elements) >= LONG_ANSWER:
        return True
    own = {word.removesuffix("s") for word in (*words_of(target.tool), *_ANSWERS)}
    about = {word.removesuffix("s") for word in split_field(name)}
    return not own.isdisjoint(about)


_ANSWERS = "result item record row entry data hit match value list element".split()
"""Words of fields that hold a list of what was asked for."""
LONG_ANSWER = 5
"""Elements of a list that has pages whatever it is called."""
LEAST_OUTPUT = 80
"""Characters of the shortest plain text that is cut."""


LEAST_MIDDLE = 400
"""Characters of the shortest text that loses its middle."""


def is_local(tool: str, kinds: frozenset[ToolKind]) -> bool:
    """Whether the system of these kinds behind a tool is no service: a shell, a device, a function, code."""
    return not (kinds.isdisjoint(LOCAL) and COMMANDS.isdisjoint(words_of(tool)))


LOCAL = frozenset({ToolKind.SHELL, ToolKind.DEVICE, ToolKind.FUNCTION, ToolKind.CODE})


def find_string(value: Any) -> str | None:
    """The member with the longest text that is no name."""
    texts = {key: len(one) for key, one in value.items() if isinstance(one, str) and len(one) >= LEAST_TEXT}
    texts = {key: size for key, size in texts.items() if " " in value[key] and not _names(split_field(key))}
    return max(texts, key=lambda key: (texts[key], key), default=None)


LEAST_TEXT = 120
"""Characters of the shortest text within JSON that is cut."""


def list_free(target: ToolResultTarget, value: dict[str, Any], *, device: bool) -> list[str]:
    """The fields that a system may fail to give: what it puts beside a record's core, or else of its core. An
    id, a message, what was given, what was asked for, and how the call went are always there."""
    free = list(_find_free(target, value, device=device))
    return [key for key, words in free if CORE.isdisjoint(words)] or [key for key, _ in free]


def _find_free(
    target: ToolResultTarget, value: dict[str, Any], *, device: bool
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The fields that may be lost, each with the words of its name."""
    given = list(read_arguments(target).values())
    always = _ALWAYS_OF_DEVICE if device else _ALWAYS
    for key, one in value.items():
        words = split_field(key)
        if _names(words) or not always.isdisjoint(words) or one in _EMPTY or one in given:
            continue
        if not (isinstance(one, bool) if device else _is_asked(target, words, one)):
            yield key, words


_EMPTY: tuple[Any, ...] = (None, "", [], {})
_ALWAYS = frozenset(fields.DONE | {"message", "msg"})


def _is_asked(target: ToolResultTarget, words: tuple[str, ...], held: Any) -> bool:
    """Whether a field holds the things that the tool's name speaks of: a search's flights."""
    if not isinstance(held, list | dict):
        return False
    own = {word.removesuffix("s") for word in words_of(target.tool)}
    return not own.isdisjoint(word.removesuffix("s") for word in words)


def list_derived(value: dict[str, Any], lost: Iterable[str]) -> list[str]:
    """A device's flags and sums that follow from readings that are lost."""
    about = {word for key in lost for word in split_field(key)} - _PLACES
    return [
        key
        for key, one in value.items()
        if key not in lost
        and (isinstance(one, bool) or not DERIVED.isdisjoint(split_field(key)))
        and not about.isdisjoint(split_field(key))
    ]


_PLACES = frozenset("front rear left right driver passenger status state level current".split())
"""Words that say where a reading is from."""
CORE = frozenset(
    "type kind side order status state symbol ticker price amount quantity total cost fare balance".split()
)
"""Words of what a record has first of all: it is lost where there is nothing else."""


DERIVED = frozenset("healthy average total remaining estimated recommended min max minimum maximum".split())
"""Words of a device's fields that no sensor gives."""
_ALWAYS_OF_DEVICE = _ALWAYS | DERIVED
CHANGING = ((ACTING | WRITING) - READING) | COMMANDING
"""First words of tools that change something."""


def changes_something(target: ToolResultTarget) -> bool:
    """Whether the result is the receipt of a change, which has no parts that may be missing."""
    return not CHANGING.isdisjoint(words_of(target.tool)[:1])


def _names(words: tuple[str, ...]) -> bool:
    return not words or words[-1] in fields.NAMING


def find_list(value: Any) -> str | None:
    """The member with the longest list of which a part may be missing."""
    if not isinstance(value, dict):
        return None
    sizes = {key: len(one) for key, one in value.items() if isinstance(one, list) and len(one) >= LEAST_LIST}
    return max(sizes, key=lambda key: (sizes[key], key), default=None)
