"""How the systems behind tools fail and cut their answers, as data: one JSONL file for each kind of entry.

`stacks.jsonl` has the kinds of systems, `forms.jsonl` what each says where a call fails, `messages.jsonl` the
sentences and `codes.jsonl` the codes within, `cuts.jsonl` how answers are cut. Each stack, message and cut
belongs to one half, as the entries of phrase packs do.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, TypeVar

import msgspec

from crosswind.injectors.targets import Half


class ErrorKind(StrEnum):
    """What goes wrong with a call."""

    UNAUTHORIZED = "401"
    FORBIDDEN = "403"
    TIMEOUT = "408"
    RATE_LIMIT = "429"
    UNAVAILABLE = "unavailable"
    UNINITIALISED = "uninitialised"
    EXCEPTION = "exception"
    MALFORMED = "malformed"
    SCHEMA = "schema"
    PREREQUISITE = "prerequisite"
    LOGIN = "login"
    """A prerequisite that is a login."""
    EXPIRED = "expired"
    """The session has ended: the prerequisite is to log in again."""


class Shape(StrEnum):
    """What a clean result is."""

    OBJECT = "object"
    ARRAY = "array"
    TEXT = "text"
    MCP = "mcp"
    """An object with MCP's `content`."""


class ToolKind(StrEnum):
    """What stands behind a tool, as far as its name and its call tell."""

    API = "api"
    WEB = "web"
    SQL = "sql"
    SHELL = "shell"
    CODE = "code"
    GRAPHQL = "graphql"
    DEVICE = "device"
    """A vehicle, or what stands in a house."""
    FUNCTION = "function"
    """It computes something, and asks nobody."""
    MCP = "mcp"
    """It comes from an MCP server, by its name."""
    CLOUD = "cloud"
    """A cloud provider's API, by its name."""


LOCAL = (ToolKind.DEVICE, ToolKind.SHELL, ToolKind.FUNCTION, ToolKind.CODE)
"""What is no remote service: no status of HTTP, no quota and no request id is said there."""


class Way(StrEnum):
    """How an answer is cut."""

    TAIL = "tail"
    """A text, after so many characters."""
    LINES = "lines"
    """A text, after so many lines."""
    MIDDLE = "middle"
    """A text, in its middle."""
    PART = "part"
    """One text of an MCP result, after so many characters."""
    BYTES = "bytes"
    """JSON, after so many characters."""
    PAGE = "page"
    """A list in an object: the first elements, and members beside the list."""
    REST_TEXT = "rest_text"
    """A bare list: the first elements, and a text behind it."""
    FIELDS = "fields"
    """An object without some of its fields."""
    SIGNALS = "signals"
    """A device's answer without some of its readings."""
    STRING = "string"
    """One text of an object, after so many characters; marked as a text is."""
    ITEMS = "items"
    """A list of texts: the first ones, and one that says so."""


class Stack(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A kind of system with a format of its own for errors."""

    name: str
    half: Half
    results: frozenset[Shape]
    """The shapes of the results in whose place its errors may stand."""
    tools: frozenset[ToolKind]
    weight: Annotated[float, msgspec.Meta(gt=0)] = 1.0


class Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a stack says: a text or JSON, with slots. Without `kinds` it fits each."""

    stack: str
    kinds: frozenset[ErrorKind] = frozenset()
    text: str = ""
    json: Any = None

    @property
    def body(self) -> Any:
        return self.text or self.json


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A sentence about what went wrong."""

    half: Half
    kind: ErrorKind
    text: str
    tools: frozenset[ToolKind] = frozenset()
    """The kinds of systems that say it, where these are no services."""


class Codes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one family of systems calls each kind, or each HTTP status."""

    style: str
    codes: Mapping[str, tuple[str, ...]]


class Cut(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What stands where an answer was cut: a text, or members of JSON; both empty: nothing."""

    half: Half
    way: Way
    text: str = ""
    json: Mapping[str, Any] = {}
    local: bool = False
    """Whether the text may be that of a device, a shell or a function, too: it speaks of no connection."""


_FOLDER = files("crosswind.injectors.stacks")
T = TypeVar("T")


def _read(name: str, kind: type[T]) -> tuple[T, ...]:
    decoder = msgspec.json.Decoder(kind)
    return tuple(map(decoder.decode, _FOLDER.joinpath(name).read_bytes().splitlines()))


@cache
def list_stacks(half: Half) -> tuple[Stack, ...]:
    return tuple(one for one in _read("stacks.jsonl", Stack) if one.half is half)


@cache
def _forms() -> Mapping[str, tuple[Form, ...]]:
    found: dict[str, tuple[Form, ...]] = {}
    for form in _read("forms.jsonl", Form):
        found[form.stack] = (*found.get(form.stack, ()), form)
    return found


def list_forms(stack: str) -> tuple[Form, ...]:
    return _forms()[stack]


@cache
def list_messages(half: Half, kind: ErrorKind, system: ToolKind | None = None) -> tuple[str, ...]:
    """What a system says of that kind: a service, or one of `LOCAL`. What has to come first is said alike."""
    given = [one for one in _read("messages.jsonl", Message) if (one.half, one.kind) == (half, kind)]
    of_system = [one.text for one in given if (system in one.tools if system else not one.tools)]
    return tuple(of_system or [one.text for one in given if not one.tools])


@cache
def _codes() -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    return {one.style: one.codes for one in _read("codes.jsonl", Codes)}


def list_codes(style: str, kind: ErrorKind, status: str) -> tuple[str, ...]:
    """What the style calls the kind; where it goes by statuses, what it calls the status."""
    table = _codes()[style]
    return table.get(kind) or table[status]


@cache
def list_cuts(half: Half, way: Way) -> tuple[Cut, ...]:
    return tuple(one for one in _read("cuts.jsonl", Cut) if (one.half, one.way) == (half, way))
