"""The packs that are shipped, and those of a folder of one's own, read when they are first needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from crosswind.injectors.packs.model import Pack, parse, read_name
from crosswind.injectors.packs.parts import Domain
from crosswind.injectors.text.languages import Language

_FOLDER = Path(__file__).parent


class PackError(ValueError):
    """A pack can't be read; the message names the file, the line and the fix."""


@dataclass(slots=True)
class OwnPacks:
    """The packs that go before the shipped ones, in this process."""

    packs: Mapping[tuple[Language, Domain], Pack] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    """Their files, by name (`fr/search`): another process that reads them has the same packs."""
    folder: Path | None = None
    """Where the files are, if that is known."""
    turn: int = 0
    """How often they have changed: what is remembered of a conversation's phrases is of one turn."""


OWN = OwnPacks()


def load(language: Language, domain: Domain) -> Pack | None:
    """The pack of a language and domain; None if there is none. PackError."""
    return OWN.packs.get((language, domain)) or load_shipped(language, domain)


@cache
def load_shipped(language: Language, domain: Domain) -> Pack | None:
    """The shipped pack, also where an own one goes before it. PackError."""
    return _read(_FOLDER, language, domain)


def _read(folder: Path, language: Language, domain: Domain) -> Pack | None:
    file = _file(folder, language, domain)
    return _parse(file.read_bytes(), str(file), "reinstall Crosswind") if file.is_file() else None


def _parse(raw: bytes, file: str, fix: str) -> Pack:
    pack, problems = parse(raw)
    if problems or pack is None:
        raise PackError(f"{file}, line {problems[0].line}: {problems[0].what}; {fix}")
    return pack


def _file(folder: Path, language: Language, domain: Domain) -> Path:
    return folder.joinpath(language, f"{domain}.jsonl")


def use_folder(folder: Path | None) -> None:
    """Let the packs of a folder go before the shipped ones. They are read at once. PackError, and then
    nothing changes."""
    use_texts({} if folder is None else read_folder(folder), folder)


def read_folder(folder: Path) -> dict[str, str]:
    """The files of a folder's packs, by name. PackError."""
    if not folder.is_dir():
        raise PackError(f"packs {str(folder)!r} is no folder: name one with LANGUAGE/DOMAIN.jsonl in it")
    texts = {}
    for file in sorted(folder.glob("*/*.jsonl")):
        name = f"{file.parent.name}/{file.stem}"
        try:
            read_name(name)
            texts[name] = file.read_bytes().decode()
        except UnicodeDecodeError as error:
            raise PackError(f"{file}: not UTF-8 at byte {error.start}: save it as UTF-8") from None
        except ValueError as error:
            raise PackError(f"{file} would never be used: {error}; or move it out of the folder") from None
        except OSError as error:
            raise PackError(f"{file}: {error.strerror}: let it be read, or move it away") from None
    if not texts:
        raise PackError(f"packs {str(folder)!r} has no pack: put LANGUAGE/DOMAIN.jsonl in it")
    return texts


def use_texts(texts: Mapping[str, str], folder: Path | None = None) -> None:
    """The same with the files' texts, by name. `folder` is where they are from."""
    if texts != OWN.texts:
        packs = {read_name(name): _parse_own(name, text, folder) for name, text in texts.items()}
        OWN.packs, OWN.texts, OWN.turn = packs, texts, OWN.turn + 1
    OWN.folder = folder


def _parse_own(name: str, text: str, folder: Path | None) -> Pack:
    file = f"pack {name}" if folder is None else str(folder / f"{name}.jsonl")
    pack = _parse(text.encode(), file, "mend it: crosswind noise pack check FILE")
    if pack.name != name:
        raise PackError(
            f"{file}, line 1: pack {pack.name!r}: the file is read as {name}; write that, or move the file"
        )
    return pack


def shipped_file(language: Language, domain: Domain) -> Path | None:
    """The file of a pack that is shipped; None where there is none."""
    file = _file(_FOLDER, language, domain)
    return file if file.is_file() else None


def shipped_files() -> list[Path]:
    found = (shipped_file(language, domain) for language in Language for domain in Domain)
    return [file for file in found if file is not None]


def load_all() -> list[Pack]:
    return [
        pack for language in Language for domain in Domain if (pack := load(language, domain)) is not None
    ]
