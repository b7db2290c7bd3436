"""What a server costs in memory."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Memory:
    """Of a process group: proportional set size, in which shared pages count once."""

    bytes: int
    processes: int

    def __str__(self) -> str:
        return f"{self.bytes / 2**30:.1f} GiB resident in {self.processes} processes"


def memory(group: int) -> Memory:
    """Of the processes of this group now (Linux); zero where /proc doesn't say."""
    sizes = [size for pid in members(group) if (size := _resident(pid)) is not None]
    return Memory(sum(sizes), len(sizes))


def members(group: int) -> list[int]:
    """The processes of this group now (Linux), by their numbers."""
    if not _PROC.is_dir():
        return []
    found = []
    for pid in (int(path.name) for path in _PROC.iterdir() if path.name.isdigit()):
        try:
            if os.getpgid(pid) == group:
                found.append(pid)
        except (ProcessLookupError, PermissionError):
            continue
    return found


def _resident(pid: int) -> int | None:
    try:
        lines = (_PROC / str(pid) / "smaps_rollup").read_text().splitlines()
    except OSError:
        return None
    kibibytes = [int(line.split()[1]) for line in lines if line.startswith("Pss:")]
    return sum(kibibytes) * 1024
