"""A phrase pack: the words that noise operators draw from in one language and domain, as data.

A pack is a JSONL file. Its first line is the header, each other line an entry.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from functools import cached_property
from typing import Annotated, Any, get_args

import msgspec

from crosswind.injectors.packs.parts import Address, Asked, Domain
from crosswind.injectors.targets import Half
from crosswind.injectors.text.languages import Language
from crosswind.injectors.values.parameters import ValueType

SLOT = re.compile(r"\{([^{}]*)\}")
Filled = Annotated[str, msgspec.Meta(pattern=r"\S")]


class Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A pack's first line. `pack` is its language and domain: `en/travel`."""

    pack: str
    version: Annotated[int, msgspec.Meta(ge=1)]
    licence: Filled


class Entry(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, rename={"operator": "for"}
):
    """One phrase. The fields stand in the file in this order."""

    id: Filled
    operator: Filled
    part: Filled
    half: Half
    key: str = ""
    """The field's or tool's name, where the part has one."""
    text: Filled
    parameter: str = ""
    """The name of a tool's parameter."""
    fits: tuple[ValueType, ...] = ()
    """The types of value for which it may be used; none: all."""
    asks: Asked | None = None
    """It is used only beside a message that surely asks for this; None: beside all."""
    about: tuple[str, ...] = ()
    """It is used only where the conversation or its tools have one of these stems; none: everywhere."""
    served_by: tuple[str, ...] = ()
    """It isn't used where a tool's name or description has one of these stems."""
    unless: tuple[str, ...] = ()
    """It isn't used beside a message that has one of these stems."""
    address: Address | None = None
    """How it addresses its reader; None: it doesn't, or its language has one way only."""

    @property
    def slots(self) -> list[str]:
        return list_slots(self.text)


def list_slots(text: str) -> list[str]:
    """The names of a text's slots, in order: `int` for `{int:1-9}`."""
    return [slot.partition(":")[0] for slot in SLOT.findall(text)]


ENTRY_KEYS = [field.encode_name for field in msgspec.structs.fields(Entry)]


Named = tuple[str, Entry]
"""An entry with its name, as draws keep it: `en/travel@1#same-001`."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a line of a pack, and the fix."""

    line: int
    what: str
    is_warning: bool = False
    """The pack can be used all the same."""


@dataclass(frozen=True, eq=False)
class Pack:
    """A pack as read, equal to itself only. `lines[i]` is the number of the line that has `entries[i]`."""

    language: Language
    domain: Domain
    version: int
    licence: str
    digest: str
    """SHA-256 of the file."""
    entries: tuple[Entry, ...]
    lines: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"{self.language}/{self.domain}"

    @property
    def edition(self) -> str:
        """Name, version and the beginning of the digest: `en/travel@1:9f2c8e1a4b7d`."""
        return name_edition(self.name, self.version, self.digest)

    def select(self, operator: str, part: str, half: Half) -> Sequence[Entry]:
        """The entries of a part's half, in the file's order."""
        return [entry for _, entry in self.select_named(operator, part, half)]

    def select_named(self, operator: str, part: str, half: Half) -> Sequence[Named]:
        """The same, each with its name: `en/travel@1#same-001`."""
        return self._by_part.get((operator, part, half), ())

    @cached_property
    def _by_part(self) -> dict[tuple[str, str, Half], list[Named]]:
        found: dict[tuple[str, str, Half], list[Named]] = {}
        beginning = f"{self.name}@{self.version}#"
        for entry in self.entries:
            named = f"{beginning}{entry.id}", entry
            found.setdefault((entry.operator, entry.part, entry.half), []).append(named)
        return found


read_header = msgspec.json.Decoder(Header).decode
_read_entry = msgspec.json.Decoder(Entry).decode


def parse(raw: bytes) -> tuple[Pack | None, list[Problem]]:
    """The pack in a file's bytes, without the lines that can't be read; None without a header that can."""
    first, *rest = raw.split(b"\n")
    try:
        header = read_header(first)
        language, domain = read_name(header.pack)
    except (ValueError, msgspec.MsgspecError) as error:
        return None, [Problem(1, f"{error}: the first line is a header: {_HEADER}")]
    read = list(_read_lines(rest))
    entries = [(line, entry) for line, entry in read if isinstance(entry, Entry)]
    return Pack(
        language,
        domain,
        version=header.version,
        licence=header.licence,
        digest=hashlib.sha256(raw).hexdigest(),
        entries=tuple(entry for _, entry in entries),
        lines=tuple(line for line, _ in entries),
    ), [Problem(line, what) for line, found in read if not isinstance(found, Entry) for what in found]


def name_edition(name: str, version: int, digest: str) -> str:
    """A pack's edition, by which plans name it."""
    return f"{name}@{version}:{digest[:12]}"


def read_name(name: str) -> tuple[Language, Domain]:
    """The language and domain of `en/travel`. ValueError, which says what there is."""
    language, _, domain = name.partition("/")
    for what, given, known in (("language", language, [*Language]), ("domain", domain, [*Domain])):
        if given not in known:
            raise ValueError(f"pack {name!r}: {given!r} is no {what}: use one of {', '.join(known)}")
    return Language(language), Domain(domain)


def suggest(given: str, known: Collection[str]) -> str:
    """The end of an error message: the nearest of what is known, or all."""
    near = get_close_matches(given, known, n=1)
    return f"did you mean {str(near[0])!r}?" if near else f"use one of {', '.join(known)}"


_HEADER = '{"pack": "en/travel", "version": 1, "licence": "Apache-2.0"}'


def _read_lines(lines: list[bytes]) -> Iterator[tuple[int, Entry | list[str]]]:
    """The number of each line, and its entry or all that is wrong with it."""
    if lines and not lines[-1]:
        lines.pop()
    for number, line in enumerate(lines, 2):
        try:
            yield number, _read_entry(line)
        except (ValueError, msgspec.MsgspecError) as error:
            yield number, [*_find_mistakes(line)] or [f"{error}: {_WRITE}"]


_WRITE = f"write an entry as one JSON object with {', '.join(ENTRY_KEYS)}"


def _find_mistakes(line: bytes) -> Iterator[str]:
    """What is wrong with the fields of a line that is no entry; nothing, if it is no object."""
    try:
        given: Mapping[str, Any] = msgspec.json.decode(line, type=dict[str, Any])
    except (ValueError, msgspec.MsgspecError):
        return
    fields = {field.encode_name: field for field in msgspec.structs.fields(Entry)}
    if missing := [name for name, field in fields.items() if field.required and name not in given]:
        yield f"{', '.join(missing)}: missing; {_WRITE}"
    for name, value in given.items():
        if (field := fields.get(name)) is None:
            yield f"unknown field {name!r}: {suggest(name, fields)}"
            continue
        try:
            msgspec.convert(value, field.type)
        except msgspec.ValidationError as error:
            known = ", ".join(_list_values(field.type))
            yield f"{name} {value!r}: {error}" + (f"; use one of {known}" if known else "")


def _list_values(annotation: Any) -> list[str]:
    """The values of the enumeration in a field's type; none where it has none."""
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return [one.value for one in annotation]
    return [value for one in get_args(annotation) for value in _list_values(one)]
