"""Faults of the disk: a library that is preloaded into the gateway, and what it is told to fail."""

from __future__ import annotations

import errno
import mmap
import shutil
import struct
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

_SOURCE = Path(__file__).with_name("faults.c")
_CONTROL = struct.Struct("=5q7q")
_ARMED = struct.Struct("=5q")


class NoCompiler(Exception):
    """There is no C compiler, or this is no Linux."""


class Operation(IntEnum):
    """As in faults.c."""

    NONE = 0
    WRITE = 1
    SYNC = 2
    TRUNCATE = 3
    RENAME = 4
    UNLINK = 5
    OPEN = 6


ERRORS = {"EIO": errno.EIO, "ENOSPC": errno.ENOSPC, "short": -1}
"""Of a short write half goes through."""


@dataclass(frozen=True, slots=True)
class Fault:
    """The `number`-th operation from now on fails, and those after it, `times` in all."""

    operation: Operation
    error: str
    number: int
    times: int = 1

    def __str__(self) -> str:
        return f"{self.operation.name.lower()} {self.number} {self.error} x{self.times}"


def build(folder: Path) -> Path:
    """Compile the library. Raises NoCompiler."""
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        raise NoCompiler("faults of the disk need Linux and a C compiler (cc): apt-get install gcc")
    library = folder / "faults.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O2", "-Wall", "-o", str(library), str(_SOURCE), "-ldl"], check=True
    )
    return library


class Control:
    """The library's orders, in memory that all processes of a gateway share."""

    def __init__(self, folder: Path, library: Path, prefix: str, *, journal: Path | None = None) -> None:
        self._path = folder / "control"
        self._path.write_bytes(bytes(_CONTROL.size))
        with self._path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), _CONTROL.size)
        self._environment = {
            "LD_PRELOAD": str(library),
            "ATTACK_PREFIX": prefix,
            "ATTACK_CONTROL": str(self._path),
        }
        if journal is not None:
            self._environment["ATTACK_JOURNAL"] = str(journal)

    @property
    def environment(self) -> Mapping[str, str]:
        """What the gateway is started with."""
        return self._environment

    def arm(self, fault: Fault | None) -> None:
        """Order a fault, or none."""
        operation = Operation.NONE if fault is None else fault.operation
        # The operation comes last: until it stands there the rest is not looked at.
        self._memory[:8] = bytes(8)
        if fault is not None:
            _ARMED.pack_into(self._memory, 0, 0, ERRORS[fault.error], fault.number, fault.times, 0)
            self._memory[:8] = struct.pack("=q", operation)

    @property
    def fired(self) -> int:
        """How many operations failed by the last order."""
        return int(_ARMED.unpack_from(self._memory)[4])

    def counted(self) -> dict[str, int]:
        """How often each operation was asked for."""
        counts = _CONTROL.unpack_from(self._memory)[5:]
        return {one.name.lower(): count for one, count in zip(Operation, counts, strict=True) if one}
