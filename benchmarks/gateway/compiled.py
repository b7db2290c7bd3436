"""The compiled halves of the benchmark: the upstream and the load generator, built on first use."""

from __future__ import annotations

import json
import statistics
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SOURCES = Path(__file__).parent
STEP_US = 2000
"""The upstream's step: paced streams get a chunk each."""
DEADLINE_S = 300
_RECORD = struct.Struct("<QQIIII")


def build(name: str, folder: Path) -> Path:
    """Compile `name`.c where its program is older. CalledProcessError where the compiler refuses."""
    source, program = SOURCES / f"{name}.c", folder / name
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(["cc", "-O2", "-Wall", "-o", str(program), str(source)], check=True)
    return program


@dataclass(frozen=True, slots=True)
class Record:
    """One answer. Times in nanoseconds from the request's first byte."""

    first_ns: int
    last_ns: int
    status: int
    bytes: int
    ended: bool

    @property
    def good(self) -> bool:
        """Whether it came whole, with status 200."""
        return self.status == 200 and self.ended


@dataclass(frozen=True, slots=True)
class Load:
    """What the load generator saw of one run."""

    records: tuple[Record, ...]
    wall_s: float
    generator_cpu_s: float

    @property
    def failed(self) -> int:
        return sum(not record.good for record in self.records)


def send(program: Path, port: int, work: Path, *, core: int | None = None) -> Load:
    """Send a work file's requests, from one core if so. CalledProcessError where that fails, or takes too
    long."""
    out = work.with_suffix(".records")
    pinned = () if core is None else ("taskset", "-c", str(core))
    done = subprocess.run(
        [*pinned, str(program), str(port), str(work), str(out), str(DEADLINE_S)],
        check=True,
        stdout=subprocess.PIPE,
    )
    spent = json.loads(done.stdout)
    return Load(read_records(out.read_bytes()), spent["wall_ns"] / 1e9, spent["cpu_ns"] / 1e9)


def read_records(data: bytes) -> tuple[Record, ...]:
    """The records that the load generator wrote."""
    return tuple(
        Record(first, last, status, size, bool(ended))
        for first, last, status, size, ended, _ in _RECORD.iter_unpack(data)
    )


def quantile(values: Sequence[float], share: float) -> float:
    """The share-th quantile, by linear interpolation; of one value that value."""
    if len(values) < 2:
        return values[0]
    return statistics.quantiles(values, n=1000, method="inclusive")[round(1000 * share) - 1]
