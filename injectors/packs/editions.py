"""Which packs a plan's operators draw from, told without their entries: those take megabytes, and a pack is
loaded only when a conversation needs it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import msgspec

from crosswind.injectors.packs.load import OWN, shipped_file
from crosswind.injectors.packs.model import name_edition, read_header
from crosswind.injectors.packs.parts import BORROWED, ENGLISH_GENERAL, OPERATORS, Domain
from crosswind.injectors.text.languages import Language


@dataclass(frozen=True, slots=True)
class _Edition:
    """A pack's edition, and the operators that its entries are for."""

    name: str
    pack: str
    operators: frozenset[str]


class _Use(msgspec.Struct, rename={"operator": "for"}):
    """What an entry is for: nothing else of its line is read."""

    operator: str


_read_use = msgspec.json.Decoder(_Use).decode


def list_versions(operators: frozenset[str]) -> tuple[str, ...]:
    """The packs with phrases that these operators draw, as plans list them: `Pack.edition`."""
    return _list_versions(operators, OWN.turn)


@cache
def _list_versions(operators: frozenset[str], turn: int) -> tuple[str, ...]:
    """`turn` is that of the packs of one's own."""
    if all({name, *BORROWED.get(name, ())}.isdisjoint(OPERATORS) for name in operators):
        return ()
    return tuple(
        edition.name for edition in _list_editions() if any(_draws_from(edition, name) for name in operators)
    )


def _list_editions() -> Iterator[_Edition]:
    for language in Language:
        for domain in Domain:
            own = OWN.texts.get(f"{language}/{domain}")
            edition = _read_shipped(language, domain) if own is None else _read(own.encode())
            if edition is not None:
                yield edition


@cache
def _read_shipped(language: Language, domain: Domain) -> _Edition | None:
    file = shipped_file(language, domain)
    return None if file is None else _read(file.read_bytes())


def _read(raw: bytes) -> _Edition:
    """The edition of a pack that can be read."""
    first, *rest = raw.split(b"\n")
    header = read_header(first)
    name = name_edition(header.pack, header.version, hashlib.sha256(raw).hexdigest())
    return _Edition(name, header.pack, frozenset(_read_use(line).operator for line in rest if line))


def _draws_from(edition: _Edition, operator: str) -> bool:
    if operator in ENGLISH_GENERAL and edition.pack != f"{Language.EN}/{Domain.GENERAL}":
        return False
    return not {operator, *BORROWED.get(operator, ())}.isdisjoint(edition.operators)
