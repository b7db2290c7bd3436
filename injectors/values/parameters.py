"""What the declared tools ask for: their parameters, each with the type of value that fills it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Any

import msgspec

from crosswind.injectors.conversation import ToolList, ToolListKey, ToolSchema


class ValueType(StrEnum):
    """The type of a value in a user's words."""

    DATE = "date"
    TIME = "time"
    NUMBER = "number"
    MONEY = "money"
    PLACE = "place"
    NAME = "name"
    FILE = "file"
    ID = "id"
    OPTION = "option"
    DURATION = "duration"
    EMAIL = "email"
    WORD = "word"


class Parameter(msgspec.Struct, frozen=True, gc=False):
    """A parameter of a tool, at any depth of its schema."""

    tool: str
    name: str
    type: ValueType
    options: tuple[str, ...] = ()
    """The values that its schema enumerates."""

    @property
    def words(self) -> tuple[str, ...]:
        """The words of its name, in lower case: `departureDate` is departure, date."""
        return split_name(self.name)

    @property
    def thing(self) -> str | None:
        """What fills it, in plain words and without an article; None where its name says nothing."""
        # No more than the first option: a key of all of them takes long to hash, once for each option.
        return _find_thing(self.name, self.type, self.options[:1])


@lru_cache(4096)
def _find_thing(name: str, type: ValueType, options: tuple[str, ...]) -> str | None:
    if options and options[0].startswith("with "):
        return None
    words = [_SPOKEN.get(word, word) for word in split_name(name)]
    while len(words) > 1 and words[-1] in _TRAILING:
        words.pop()
    if type is ValueType.NUMBER and len(words) == 1 and _PLURAL.search(words[0]):
        words.insert(0, "number of")
    if len(words) > 1 and words[-1] in ("id", "ids", "name", "code") and type is not ValueType.NAME:
        words.pop()
    plain = " ".join(words)
    return plain if words and all(len(word) > 2 for word in words) and plain not in _EMPTY else None


_SPOKEN = {"num": "number of", "qty": "quantity", "max": "maximum", "min": "minimum", "dest": "destination"}
_PLURAL = re.compile(r"[^siu]s$")
_TRAILING = frozenset(
    "from to by at in on for of with mg kg km cm days hours minutes seconds nights months years str".split()
)
"""Words at a name's end that say less what it is than how it is told."""
_EMPTY = frozenset(
    {
        *("value", "data", "input", "query", "text", "params", "item", "type", "number of", "option"),
        *("days", "hours", "minutes", "seconds", "nights", "weeks", "months", "years", "number"),
    }
)
_FORMATS = {
    "date": ValueType.DATE,
    "date-time": ValueType.DATE,
    "time": ValueType.TIME,
    "duration": ValueType.DURATION,
    "email": ValueType.EMAIL,
    "uuid": ValueType.ID,
    "uri": ValueType.FILE,
    "uri-reference": ValueType.FILE,
}
_BY_WORD: tuple[tuple[ValueType, frozenset[str]], ...] = tuple(
    (kind, frozenset(words.split()))
    for kind, words in (
        (ValueType.EMAIL, "email mail mailbox"),
        (ValueType.DATE, "date day deadline birthday dob due checkin checkout expiry month"),
        (
            ValueType.FILE,
            "file files filename path folder directory dir url uri link",
        ),
        (ValueType.TIME, "time hour timestamp"),
        (ValueType.MONEY, "price amount budget cost fee salary balance fare payment total deposit"),
        (ValueType.DURATION, "duration nights minutes hours weeks length days months seconds"),
        (
            ValueType.PLACE,
            "city location place destination origin airport country address venue state region town street "
            "departure arrival area district station hotel restaurant province county",
        ),
        (ValueType.ID, "id ids code reference sku uuid isbn number token key plate iban account"),
        (
            ValueType.NAME,
            "name title author artist person user username recipient contact company movie song album "
            "receiver sender assignee attendee attendees owner friend patient doctor customer employee "
            "brand product model team player ticker symbol",
        ),
    )
)
_NAMED_KINDS = frozenset("file folder directory city country region town street".split())
"""Kinds that a name's last word hides: `file_name` is a file."""
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_DEPTH = 6
"""How deep nested objects are looked into."""


def split_name(name: str) -> tuple[str, ...]:
    """The words of an identifier, in lower case."""
    return _split_name(name) if len(name) <= _LONGEST_NAME else _split_name.__wrapped__(name)


_LONGEST_NAME = 128
"""Characters of the longest name whose words are remembered."""


@lru_cache(8192)
def _split_name(name: str) -> tuple[str, ...]:
    return tuple(part.lower() for part in _PARTS.findall(name))


def list_parameters(tools: ToolList) -> tuple[Parameter, ...]:
    """The tools' parameters, in order of the tools and of the parameters' names: a schema's own order may
    change from request to request.
    """
    return list_once(tools.key)


@lru_cache(256)
def list_once(keyed: ToolListKey) -> tuple[Parameter, ...]:
    return tuple(parameter for tool in keyed.tools for parameter in _walk(tool, tool.parameters, _DEPTH))


def _walk(tool: ToolSchema, schema: Any, depth: int) -> Iterator[Parameter]:
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping) or depth == 0:
        return
    for name, member in sorted(properties.items(), key=lambda pair: str(pair[0])):
        if not isinstance(member, Mapping):
            continue
        items = member.get("items")
        leaf = items if isinstance(items, Mapping) else member
        if isinstance(leaf.get("properties"), Mapping):
            yield from _walk(tool, leaf, depth - 1)
        elif leaf.get("type") == "boolean":
            if said := _list_said(str(name)):
                yield Parameter(tool.name, str(name), ValueType.OPTION, said)
        elif (kind := _find_type(str(name), leaf)) is not None:
            options = _find_options(leaf)
            if kind is ValueType.WORD and (options := _find_quoted(leaf)):
                kind = ValueType.OPTION
            yield Parameter(tool.name, str(name), kind, options)


def _find_type(name: str, schema: Mapping[str, Any]) -> ValueType | None:
    """The type of value that a leaf takes; None for what no user says in words, such as a boolean."""
    declared = schema.get("type")
    if declared in ("boolean", "null", "object"):
        return None
    if _find_options(schema):
        return ValueType.OPTION
    if (formatted := _FORMATS.get(str(schema.get("format")))) is not None:
        return formatted
    words = split_name(name)
    if len(words) > 1 and words[-1] == "name" and words[-2] in _NAMED_KINDS:
        words = words[:-1]
    numeric = declared in ("integer", "number", "float")
    for word in reversed(words):  # The last word of a name is what it names: `file_date` is a date.
        for kind, known in _BY_WORD:
            if word in known:
                return _narrow(kind) if numeric else kind
    return ValueType.NUMBER if numeric else ValueType.WORD


def type_of_name(name: str) -> ValueType | None:
    """The type of value that a name says; None where it says none."""
    kind = _find_type(name, {"type": "string"})
    return None if kind is ValueType.WORD else kind


def _narrow(kind: ValueType) -> ValueType:
    """The type of a parameter that takes a number and is called like a kind of value."""
    numbers = (ValueType.MONEY, ValueType.DURATION, ValueType.TIME)
    return kind if kind in numbers else ValueType.NUMBER


def _list_said(name: str) -> tuple[str, ...]:
    """How a user says yes and no to a parameter that is one of both: "with breakfast"."""
    words = [word for word in split_name(name) if word not in _ASKING]
    said = " ".join(words)
    return (f"with {said}", f"without {said}") if words and all(len(word) > 4 for word in words) else ()


_ASKING = frozenset(
    """
    is has have include includes included including with add enable enabled want wants need needs required use
    """.split()
)
_QUOTED = re.compile(r"[\"'`‘“]([\w -]{2,30})[\"'`’”]")
_LISTED = re.compile(r"(?:\be\.g\.,? |\bsuch as |\b[Oo]ptions(?: are|:) |\b[Oo]ne of:? )([\w ,-]{3,200})")
_PLAIN = re.compile(r"[^\W\d_][\w-]*(?: [\w-]+)?")
_LONGEST_DESCRIPTION = 2_000


def _find_quoted(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The values that a description enumerates, in quotation marks or behind `e.g.` and its like."""
    said = schema.get("description")
    found = _QUOTED.findall(said[:_LONGEST_DESCRIPTION]) if isinstance(said, str) else []
    if not found and isinstance(said, str) and (listed := _LISTED.search(said[:_LONGEST_DESCRIPTION])):
        found = [
            one.strip()
            for one in re.split(r", (?:or |and )?| or ", listed[1])
            if _PLAIN.fullmatch(one.strip())
        ]
    options = tuple(dict.fromkeys(found))
    return options if len(options) > 1 else ()


def _find_options(schema: Mapping[str, Any]) -> tuple[str, ...]:
    given = schema.get("enum")
    options = tuple(one for one in given if isinstance(one, str)) if isinstance(given, list) else ()
    return options if len(options) > 1 else ()
