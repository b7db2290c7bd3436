"""The history of a registry's versions: an append-only file of JSON lines beside them.

Versions never change; that one was published, confirmed, doubted or found bad is a line of its own. A line
that a crash tore is passed over.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

ADOPTED, PUBLISHED, CONFIRMED, BAD, GOOD = "adopted", "published", "confirmed", "bad", "good"
_FILE = "journal.jsonl"


class JournalError(Exception):
    """The journal can't be written; the message names the file and the reason."""


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One line: the time in microseconds since the epoch, the event, the version, and further fields."""

    at: int
    event: str
    version: str
    about: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class VersionStatus:
    """What the journal says of a version."""

    bad: str | None = None
    """Why it must not serve; None where nothing is known against it."""
    confirmed: float | None = None
    """The largest difference that it was last confirmed with; None where it never was, or was found bad
    since.
    """
    published: int | None = None
    """When it was last published."""


class VersionJournal:
    """The journal of the registry under `root`."""

    def __init__(self, root: Path) -> None:
        self.path = root / _FILE

    def append(self, event: str, version: str, **about: Any) -> None:
        """Append a line; it is on disk when this returns. Raises JournalError."""
        line = orjson.dumps({"at": time.time_ns() // 1000, "event": event, "version": version, **about})
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                rest = (b"\n" if _is_torn(descriptor) else b"") + line + b"\n"
                while rest:
                    # A full disk takes a part of the bytes; the next write then raises the error.
                    rest = rest[os.write(descriptor, rest) :]
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise JournalError(
                f"{self.path}: {event} of {version!r} can't be written ({error.strerror}); free space, or "
                "correct its permissions"
            ) from error

    def entries(self, *events: str) -> list[JournalEntry]:
        """The entries of these events (of all events if none are named), oldest first."""
        if not self.path.is_file():
            return []
        read = (_read_entry(line) for line in self.path.read_bytes().splitlines())
        return [note for note in read if note is not None and (not events or note.event in events)]

    def read_statuses(self) -> dict[str, VersionStatus]:
        """The status of every version that has an entry."""
        out: dict[str, VersionStatus] = {}
        for note in self.entries():
            before = out.get(note.version, VersionStatus())
            out[note.version] = _apply_entry(before, note)
        return out


def _apply_entry(before: VersionStatus, note: JournalEntry) -> VersionStatus:
    match note.event:
        case "published":
            return VersionStatus(before.bad, before.confirmed, note.at)
        case "confirmed":
            return VersionStatus(before.bad, float(note.about["max_difference"]), before.published)
        case "bad":
            return VersionStatus(str(note.about.get("reason") or "marked bad"), None, before.published)
        case "good":
            return VersionStatus(None, before.confirmed, before.published)
        case _:
            return before


def _is_torn(descriptor: int) -> bool:
    """Whether the file's last line has no end."""
    size = os.fstat(descriptor).st_size
    return size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"


def _read_entry(line: bytes) -> JournalEntry | None:
    try:
        raw = orjson.loads(line)
        return JournalEntry(int(raw.pop("at")), str(raw.pop("event")), str(raw.pop("version")), raw)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
