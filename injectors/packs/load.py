"""The packs that are shipped, read when they are first needed."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from crosswind.injectors.packs.model import Pack, parse
from crosswind.injectors.packs.parts import Domain
from crosswind.injectors.text.languages import Language

_FOLDER = files("crosswind.injectors.packs")


class PackError(ValueError):
    """A shipped pack can't be read; the message names the file and the line."""


@cache
def load(language: Language, domain: Domain) -> Pack | None:
    """The pack of a language and domain; None if there is none."""
    file = _file(language, domain)
    if not file.is_file():
        return None
    pack, problems = parse(file.read_bytes())
    if problems or pack is None:
        first = problems[0]
        raise PackError(f"{file}, line {first.line}: {first.what}; reinstall Crosswind")
    return pack


def _file(language: Language, domain: Domain) -> Traversable:
    return _FOLDER.joinpath(language, f"{domain}.jsonl")


def shipped_files() -> list[Traversable]:
    found = (_file(language, domain) for language in Language for domain in Domain)
    return [file for file in found if file.is_file()]


def load_all() -> list[Pack]:
    return [
        pack for language in Language for domain in Domain if (pack := load(language, domain)) is not None
    ]
