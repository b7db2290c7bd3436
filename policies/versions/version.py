"""Policy versions and the registry of them on disk.

A version is a Hugging Face directory with a `crosswind.json` beside the weights; one of kind `lora` is a PEFT
adapter, with the name and checksum of the version that it adapts. It appears in the registry by one rename,
complete or not at all, and is never changed afterwards. Its history is in the registry's journal.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from crosswind.policies.versions.journal import ADOPTED, VersionJournal

METADATA = "crosswind.json"
CHECKED_FILES = ("config.json", "model.safetensors", "tokenizer.json", "chat_template.jinja")
ADAPTER_FILES = ("adapter_config.json", "adapter_model.safetensors")
FULL, LORA = "full", "lora"
PRETRAINED = Path(__file__).parent.parent / "pretrained"
"""Policies that come with the package."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class VersionError(Exception):
    """A version or its directory is not as it must be. The message names the file or field, the value and the
    fix.
    """


class NotWritten(VersionError):
    """A version couldn't be written (a full disk, say): nothing of it is left, and what serves serves on."""


@dataclass(frozen=True, slots=True)
class PolicyVersion:
    """One version of a policy: where its directory is, what it came from and the checksum of its files."""

    version: str
    path: Path
    parent: str | None = None
    step: int = 0
    kind: str = FULL
    run: str | None = None
    metrics: Mapping[str, Any] = field(default_factory=dict)
    checksum: str = ""
    base: str | None = None
    """The full version that an adapter (kind `lora`) adapts, by name; None for full weights."""
    base_checksum: str | None = None
    base_path: Path | None = None

    @property
    def files(self) -> tuple[str, ...]:
        """The files that decide what it says: those its checksum is taken of."""
        return ADAPTER_FILES if self.kind == LORA else CHECKED_FILES

    @property
    def home(self) -> Path:
        """The directory of its configuration, tokenizer and template: an adapter's base has them."""
        return self.base_path if self.kind == LORA and self.base_path is not None else self.path

    def metadata(self) -> dict[str, Any]:
        """The content of `crosswind.json`."""
        base = {"base": self.base, "base_checksum": self.base_checksum, "base_path": str(self.base_path)}
        return {
            "version": self.version,
            "parent": self.parent,
            "step": self.step,
            "kind": self.kind,
            "run": self.run,
            "metrics": dict(self.metrics),
            "checksum": self.checksum,
            **(base if self.kind == LORA else {}),
        }


def sync(path: Path) -> None:
    """Force a file's content, or a directory's entries, to disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def checksum_file(path: Path) -> str:
    """BLAKE2b-256 of one file, in hexadecimal. Raises VersionError where it can't be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=32)).hexdigest()
    except OSError as error:
        raise VersionError(f"{path}: can't be read ({error.strerror}); give a complete directory") from None


def checksum(directory: Path, files: tuple[str, ...] = CHECKED_FILES) -> str:
    """BLAKE2b-256, in hexadecimal, over the files that decide what a policy says, names and contents."""
    listing = "".join(f"{name} {checksum_file(directory / name)}\n" for name in files)
    return hashlib.blake2b(listing.encode(), digest_size=32).hexdigest()


def find_policy(directory: Path) -> Path:
    """The directory as given; where there is none, the policy of that name that comes with the package."""
    shipped = PRETRAINED / directory
    known = len(directory.parts) == 1 and shipped.is_dir() and not directory.exists()
    return shipped if known else directory


def read_version(directory: Path) -> PolicyVersion:
    """The version that a directory says it holds. The checksum is reported, not verified: see `verify`."""
    path = directory / METADATA
    try:
        raw = orjson.loads(path.read_bytes())
    except OSError as error:
        raise VersionError(
            f"{path}: can't be read ({error.strerror}); it must stand beside the weights"
        ) from None
    except ValueError:
        raise VersionError(f"{path}: not JSON; write the version again") from None
    if not isinstance(raw, dict) or not isinstance(raw.get("version"), str):
        raise VersionError(f"{path}: field 'version' is missing or not a string; write the version again")
    return PolicyVersion(
        version=raw["version"],
        path=directory,
        parent=raw.get("parent"),
        step=int(raw.get("step", 0)),
        kind=str(raw.get("kind", FULL)),
        run=raw.get("run"),
        metrics=raw.get("metrics") or {},
        checksum=str(raw.get("checksum", "")),
        base=raw.get("base"),
        base_checksum=raw.get("base_checksum"),
        base_path=Path(raw["base_path"]) if raw.get("base_path") else None,
    )


def verify(version: PolicyVersion) -> None:
    """Raise VersionError unless the directory's files are those that the checksum was taken of."""
    found = checksum(version.path, version.files)
    if found != version.checksum:
        raise VersionError(
            f"{version.path}: checksum is {found[:16]}…, {METADATA} says {version.checksum[:16]!r}…: "
            "the files were changed after they were published; publish them as a new version"
        )


def find_base(version: PolicyVersion) -> PolicyVersion | None:
    """The version that an adapter adapts; None for full weights. Raises VersionError where it isn't there or
    isn't what the adapter was made on.
    """
    if version.kind != LORA:
        return None
    if version.base_path is None:
        raise VersionError(
            f"{version.path / METADATA}: field 'base_path' is missing; write the adapter again"
        )
    base = read_version(version.base_path)
    verify(base)
    if base.checksum != version.base_checksum:
        raise VersionError(
            f"{version.path}: it adapts {version.base!r} of checksum {str(version.base_checksum)[:16]}…, "
            f"{base.path} is of {base.checksum[:16]}…: an adapter is worth nothing on other weights"
        )
    return base


def write_metadata(version: PolicyVersion) -> PolicyVersion:
    """Take the checksum of the directory's files and write `crosswind.json`, durably. Gives the completed
    version.
    """
    complete = replace(version, checksum=checksum(version.path, version.files))
    path = version.path / METADATA
    path.write_bytes(orjson.dumps(complete.metadata(), option=orjson.OPT_INDENT_2))
    for name in (*version.files, METADATA):
        sync(version.path / name)
    return complete


def check_name(version: str) -> None:
    """Raises VersionError where no version may be called so."""
    if not _NAME.fullmatch(version):
        raise VersionError(
            f"version {version!r}: use letters, digits, '.', '_' and '-', and a letter or digit first"
        )


class Registry:
    """The versions under one root folder, one directory each, and those adopted from elsewhere."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.journal = VersionJournal(root)

    def add(
        self,
        version: str,
        write: Callable[[Path], None],
        *,
        parent: str | None = None,
        step: int = 0,
        base: PolicyVersion | None = None,
        run: str | None = None,
        metrics: Mapping[str, Any] | None = None,
    ) -> PolicyVersion:
        """Let `write` fill a hidden directory, then show it under the version's name by one rename. With a
        `base` it is an adapter of that version.

        Raises VersionError where the name is taken or not usable, NotWritten where the disk doesn't take it;
        whatever `write` raises leaves no trace.
        """
        check_name(version)
        target = self.root / version
        if target.exists():
            raise VersionError(
                f"version {version!r} exists already under {self.root}: versions are never overwritten"
            )
        made = PolicyVersion(version, target, parent, step, LORA if base else FULL, run, metrics or {})
        if base is not None:
            where = base.path.resolve()
            made = replace(made, base=base.version, base_checksum=base.checksum, base_path=where)
        try:
            return self._write(made, write)
        except OSError as error:
            raise NotWritten(
                f"version {version!r} can't be written to {self.root} ({error.strerror or error}); nothing "
                "of it was kept, and what serves serves on: fix that (free space, say) and publish it again"
            ) from error

    def _write(self, version: PolicyVersion, write: Callable[[Path], None]) -> PolicyVersion:
        self.root.mkdir(parents=True, exist_ok=True)
        hidden = Path(tempfile.mkdtemp(prefix=".adding-", dir=self.root))
        try:
            write(hidden)
            made = write_metadata(replace(version, path=hidden))
            hidden.chmod(0o755)
            hidden.rename(version.path)
        except BaseException:
            shutil.rmtree(hidden, ignore_errors=True)
            raise
        sync(self.root)
        return replace(made, path=version.path)

    def adopt(self, version: PolicyVersion) -> None:
        """Know a version whose directory is elsewhere, such as the one that a run starts from. It isn't
        copied, and stays out of retention.
        """
        path = str(version.path.resolve())
        if self._read_adopted().get(version.version) != path and version.path.parent != self.root:
            self.journal.append(ADOPTED, version.version, path=path, checksum=version.checksum)

    def _read_adopted(self) -> dict[str, str]:
        return {note.version: str(note.about["path"]) for note in self.journal.entries(ADOPTED)}

    def versions(self) -> list[PolicyVersion]:
        """The versions whose directories are under the root, by step and then by name."""
        if not self.root.is_dir():
            return []
        found = [read_version(path.parent) for path in self.root.glob(f"[!.]*/{METADATA}")]
        return sorted(found, key=lambda version: (version.step, version.version))

    def list_all(self) -> list[PolicyVersion]:
        """All versions, adopted ones that are still there first. Directories that hold no version are passed
        over.
        """
        adopted = [Path(path) for path in self._read_adopted().values()]
        return [read_version(path) for path in adopted if (path / METADATA).is_file()] + self.versions()

    def get(self, version: str) -> PolicyVersion:
        """One version by its name. Raises VersionError, naming those there are."""
        elsewhere = self._read_adopted().get(version)
        for path in (self.root / version, *([Path(elsewhere)] if elsewhere else [])):
            if _NAME.fullmatch(version) and (path / METADATA).is_file():
                return read_version(path)
        names = ", ".join(known.version for known in self.list_all()[-5:]) or "none"
        raise VersionError(f"version {version!r} isn't under {self.root} (the newest there: {names})")

    def retain(self, newest: int, *, protected: frozenset[str] = frozenset()) -> list[str]:
        """Delete all but the `newest` newest versions, those protected, and the bases of adapters that stay;
        gives the names deleted.
        """
        versions = self.versions()
        kept = {version.version for version in versions[-newest or len(versions) :]} | protected
        kept |= {str(version.base) for version in versions if version.version in kept}
        dropped = []
        for version in versions:
            if version.version not in kept:
                hidden = Path(tempfile.mkdtemp(prefix=".dropping-", dir=self.root))
                version.path.rename(hidden / version.version)
                shutil.rmtree(hidden)
                dropped.append(version.version)
        return dropped
