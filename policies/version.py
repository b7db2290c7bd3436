"""Policy versions and the registry of them on disk.

A version is a Hugging Face directory with a `crosswind.json` beside the weights. It appears in the registry
by one
rename, complete or not at all, and is never changed afterwards.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

METADATA = "crosswind.json"
CHECKED_FILES = ("config.json", "model.safetensors", "tokenizer.json", "chat_template.jinja")
PRETRAINED = Path(__file__).parent / "pretrained"
"""Policies that come with the package."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class VersionError(Exception):
    """A version or its directory is not as it must be. The message names the file or field, the value and the
    mend.
    """


@dataclass(frozen=True, slots=True)
class PolicyVersion:
    """One version of a policy: where its directory is, what it came from and the checksum of its files."""

    version: str
    path: Path
    parent: str | None = None
    step: int = 0
    kind: str = "full"
    run: str | None = None
    metrics: Mapping[str, Any] = field(default_factory=dict)
    checksum: str = ""

    def metadata(self) -> dict[str, Any]:
        """The content of `crosswind.json`."""
        return {
            "version": self.version,
            "parent": self.parent,
            "step": self.step,
            "kind": self.kind,
            "run": self.run,
            "metrics": dict(self.metrics),
            "checksum": self.checksum,
        }


def checksum_of(path: Path) -> str:
    """BLAKE2b-256 of one file, in hexadecimal. Raises VersionError where it can't be read."""
    try:
        return hashlib.blake2b(path.read_bytes(), digest_size=32).hexdigest()
    except OSError as error:
        raise VersionError(f"{path}: can't be read ({error.strerror}); give a complete directory") from None


def checksum(directory: Path) -> str:
    """BLAKE2b-256, in hexadecimal, over the files that decide what a policy says, names and contents."""
    listing = "".join(f"{name} {checksum_of(directory / name)}\n" for name in CHECKED_FILES)
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
        raise VersionError(f"{path}: not JSON; write the version anew") from None
    if not isinstance(raw, dict) or not isinstance(raw.get("version"), str):
        raise VersionError(f"{path}: field 'version' is missing or not a string; write the version anew")
    return PolicyVersion(
        version=raw["version"],
        path=directory,
        parent=raw.get("parent"),
        step=int(raw.get("step", 0)),
        kind=str(raw.get("kind", "full")),
        run=raw.get("run"),
        metrics=raw.get("metrics") or {},
        checksum=str(raw.get("checksum", "")),
    )


def verify(version: PolicyVersion) -> None:
    """Raise VersionError unless the directory's files are those that the checksum was taken of."""
    found = checksum(version.path)
    if found != version.checksum:
        raise VersionError(
            f"{version.path}: checksum is {found[:16]}…, {METADATA} says {version.checksum[:16]!r}…: "
            "the files were changed after they were published; publish them as a new version"
        )


def write_metadata(version: PolicyVersion) -> PolicyVersion:
    """Take the checksum of the directory's files and write `crosswind.json`, durably. Gives the completed
    version.
    """
    complete = PolicyVersion(**{**_fields(version), "checksum": checksum(version.path)})
    path = version.path / METADATA
    path.write_bytes(orjson.dumps(complete.metadata(), option=orjson.OPT_INDENT_2))
    for name in (*CHECKED_FILES, METADATA):
        _sync(version.path / name)
    return complete


def _fields(version: PolicyVersion) -> dict[str, Any]:
    return version.metadata() | {"path": version.path}


class Registry:
    """The versions under one root folder, one directory each."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def add(
        self,
        version: str,
        write: Callable[[Path], None],
        *,
        parent: str | None = None,
        step: int = 0,
        kind: str = "full",
        run: str | None = None,
        metrics: Mapping[str, Any] | None = None,
    ) -> PolicyVersion:
        """Let `write` fill a hidden directory, then show it under the version's name by one rename.

        Raises VersionError where the name is taken or not usable; whatever `write` raises leaves no trace.
        """
        if not _NAME.fullmatch(version):
            raise VersionError(
                f"version {version!r}: use letters, digits, '.', '_' and '-', and a letter or digit first"
            )
        target = self.root / version
        if target.exists():
            raise VersionError(
                f"version {version!r} exists already under {self.root}: versions are never overwritten"
            )
        self.root.mkdir(parents=True, exist_ok=True)
        hidden = Path(tempfile.mkdtemp(prefix=".adding-", dir=self.root))
        try:
            write(hidden)
            made = write_metadata(PolicyVersion(version, hidden, parent, step, kind, run, metrics or {}))
            hidden.chmod(0o755)
            hidden.rename(target)
        except BaseException:
            shutil.rmtree(hidden, ignore_errors=True)
            raise
        _sync(self.root)
        return PolicyVersion(**{**_fields(made), "path": target})

    def versions(self) -> list[PolicyVersion]:
        """All versions, by step and then by name. Directories that hold no version are passed over."""
        if not self.root.is_dir():
            return []
        found = [read_version(path.parent) for path in self.root.glob(f"[!.]*/{METADATA}")]
        return sorted(found, key=lambda version: (version.step, version.version))

    def latest(self) -> PolicyVersion | None:
        """The version of the highest step; None where there is none."""
        versions = self.versions()
        return versions[-1] if versions else None

    def get(self, version: str) -> PolicyVersion:
        """One version by its name. Raises VersionError, naming those there are."""
        path = self.root / version
        if not _NAME.fullmatch(version) or not (path / METADATA).is_file():
            names = ", ".join(known.version for known in self.versions()[-5:]) or "none"
            raise VersionError(f"version {version!r} isn't under {self.root} (the newest there: {names})")
        return read_version(path)

    def retain(self, newest: int, *, protected: frozenset[str] = frozenset()) -> list[str]:
        """Delete all but the `newest` newest versions and the protected ones; gives the names deleted."""
        dropped = []
        for version in self.versions()[: -newest or None]:
            if version.version not in protected:
                hidden = Path(tempfile.mkdtemp(prefix=".dropping-", dir=self.root))
                version.path.rename(hidden / version.version)
                shutil.rmtree(hidden)
                dropped.append(version.version)
        return dropped


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
