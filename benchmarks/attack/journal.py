"""Power loss: what a disk may hold after it, worked out from a journal of operations on the store's files.

What was synced is on the disk. Of what wasn't, any part may be: some writes and not others, some torn at a
sector; a file's name only where its folder was synced since. After a failed sync the kernel forgets what it
could not write, so that a later sync does not bring it back.
"""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Iterator
from dataclasses import astuple, dataclass, field
from enum import IntEnum
from pathlib import Path

from benchmarks.attack.ledger import Fact, Kind

_RECORD = struct.Struct("=IIQQQ")
_SECTOR = 512


class Step(IntEnum):
    """Kinds of records, as in faults.c; MARK is our own."""

    CREATED = 1
    OPENED = 2
    WRITTEN = 3
    SYNCING = 4
    SYNCED = 5
    SYNC_FAILED = 6
    TRUNCATED = 7
    RENAMED = 8
    UNLINKED = 9
    FOLDER = 10
    MARK = 11
    """A fact that a client was told: what it rests on was synced before."""


@dataclass(frozen=True, slots=True)
class Record:
    step: Step
    number: int
    file: int
    offset: int
    data: bytes


def read_journal(path: Path) -> Iterator[Record]:
    """The records, in order; a last one that was cut off is left out."""
    data, at = path.read_bytes(), 0
    while at + _RECORD.size <= len(data):
        step, number, file, offset, length = _RECORD.unpack_from(data, at)
        at += _RECORD.size
        yield Record(Step(step), number, file, offset, data[at : at + length])
        at += length


class Marker:
    """Writes what clients were told into the journal, at the moment when they were."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)

    def mark(self, fact: Fact) -> None:
        data = json.dumps(astuple(fact)).encode()
        self._file.write(_RECORD.pack(Step.MARK, 0, 0, 0, len(data)) + data)

    def close(self) -> None:
        self._file.close()


@dataclass
class _File:
    synced: bytearray = field(default_factory=bytearray)
    pending: list[Record] = field(default_factory=list)
    """Writes and truncations since the last sync."""


class Disk:
    """The files at a point of the journal."""

    def __init__(self, draws: random.Random) -> None:
        self.facts: list[Fact] = []
        self._random = draws
        self._files: dict[int, _File] = {}
        self._names: dict[str, int] = {}
        self._synced_names: dict[str, int] = {}
        self._folders: set[int] = set()
        self._syncs: dict[tuple[int, int], int] = {}
        """By sync in progress: how many pending operations it covers."""

    def apply(self, record: Record) -> None:
        match record.step:
            case Step.CREATED | Step.OPENED:
                self._open(record)
            case Step.WRITTEN | Step.TRUNCATED:
                self._files[record.file].pending.append(record)
            case Step.FOLDER:
                self._folders.add(record.file)
            case Step.SYNCING | Step.SYNCED | Step.SYNC_FAILED:
                self._sync(record)
            case Step.RENAMED:
                before, after = record.data.decode().split("\0")
                self._names[after] = self._names.pop(before)
            case Step.UNLINKED:
                self._names.pop(record.data.decode(), None)
            case Step.MARK:
                kind, session, name = json.loads(record.data)
                self.facts.append(Fact(Kind(kind), session, name))

    def _open(self, record: Record) -> None:
        if record.step is Step.CREATED:
            self._files[record.file] = _File()
        self._files.setdefault(record.file, _File())
        self._names[record.data.decode()] = record.file

    def _sync(self, record: Record) -> None:
        if record.file in self._folders:
            if record.step is Step.SYNCED:
                self._synced_names = dict(self._names)
            return
        file, key = self._files[record.file], (record.file, record.number)
        if record.step is Step.SYNCING:
            self._syncs[key] = len(file.pending)
            return
        covered = self._syncs.pop(key)
        done, file.pending = file.pending[:covered], file.pending[covered:]
        if record.step is Step.SYNC_FAILED:
            done = [one for one in done if self._random.random() < 0.5]
        for one in done:
            _apply(file.synced, one)
        for other in self._syncs:
            if other[0] == record.file:
                self._syncs[other] = max(0, self._syncs[other] - covered)

    def write_to(self, folder: Path, kept: float) -> Path:
        """Write what a power loss leaves into a folder; of what wasn't synced, each piece is kept by chance.

        Gives the path of the store.
        """
        names = {name: file for name, file in self._synced_names.items() if self._names.get(name) == file}
        for name in self._names.keys() ^ self._synced_names.keys():
            # Whether the change of a name got there is as open as whether a write did.
            there = name in self._names if self._random.random() < kept else name in self._synced_names
            if there:
                names[name] = (self._names | self._synced_names)[name]
        folder.mkdir(parents=True)
        for name, number in names.items():
            content = bytearray(self._files[number].synced)
            for record in self._files[number].pending:
                if self._random.random() < kept:
                    _apply(content, self._tear(record))
            (folder / Path(name).name).write_bytes(content)
        return folder / "store.db"

    def _tear(self, record: Record) -> Record:
        """Now and then only some sectors of a write get there: the first ones."""
        if record.step is not Step.WRITTEN or self._random.random() < 0.8:
            return record
        sectors = self._random.randint(0, len(record.data) // _SECTOR)
        return Record(record.step, 0, record.file, record.offset, record.data[: sectors * _SECTOR])


def _apply(content: bytearray, record: Record) -> None:
    if record.step is Step.TRUNCATED:
        del content[record.offset :]
        content.extend(bytes(record.offset - len(content)))
        return
    end = record.offset + len(record.data)
    content.extend(bytes(max(0, record.offset - len(content))))
    content[record.offset : end] = record.data
