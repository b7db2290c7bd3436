"""One contestant's figures in one round, and what is pooled over rounds."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree

from benchmarks.gateway.cases import Case
from benchmarks.gateway.compiled import Load, quantile, send
from benchmarks.gateway.contestants import Contestant
from benchmarks.gateway.work import make_work, read_work
from benchmarks.processes import Process, cpu_s, run_server
from crosswind.studies.stack import free_port

PROXY_CORE, OTHER_CORE = 0, 1
_SYNCS = 200


@dataclass(slots=True)
class Cell:
    """A contestant in a case. Figures of several rounds are pooled."""

    requests: int = 0
    failed: int = 0
    cpu_s: float = 0.0
    wall_s: float = 0.0
    other_cpu_s: float = 0.0
    """Of the load generator and the upstream."""
    body_bytes: int = 0
    per_request_ms: list[float] = field(default_factory=list)
    """CPU milliseconds per request, round by round."""
    first_ms: list[float] = field(default_factory=list)
    last_ms: list[float] = field(default_factory=list)

    def add(self, load: Load, cpu_seconds: float, upstream_cpu_s: float) -> None:
        """Take in one round."""
        self.requests += len(load.records)
        self.failed += load.failed
        self.cpu_s += cpu_seconds
        self.wall_s += load.wall_s
        self.other_cpu_s += load.generator_cpu_s + upstream_cpu_s
        self.body_bytes += sum(record.bytes for record in load.records)
        self.per_request_ms.append(1e3 * cpu_seconds / len(load.records))
        self.first_ms += [record.first_ns / 1e6 for record in load.records]
        self.last_ms += [record.last_ns / 1e6 for record in load.records]

    def figures(self) -> dict[str, float]:
        """What goes into the tables."""
        return {
            "requests": self.requests,
            "failed": self.failed,
            "cpu_s_per_1000": 1e3 * self.cpu_s / self.requests,
            "cpu_s_per_1000_least": min(self.per_request_ms),
            "cpu_s_per_1000_most": max(self.per_request_ms),
            "requests_per_s": self.requests / self.wall_s,
            "p50_ms": quantile(self.last_ms, 0.5),
            "p99_ms": quantile(self.last_ms, 0.99),
            "first_byte_p50_ms": quantile(self.first_ms, 0.5),
            "answer_bytes": self.body_bytes / self.requests,
            "other_core_busy": self.other_cpu_s / self.wall_s,
        }


@dataclass(slots=True)
class Standing:
    """A contestant's figures over all rounds."""

    cells: dict[str, Cell] = field(default_factory=dict)
    start_s: list[float] = field(default_factory=list)
    rss_mb: list[float] = field(default_factory=list)
    store_mb: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Bench:
    """What all measurements of a run share."""

    generator: Path
    upstream: Process
    upstream_port: int
    folder: Path
    cases: Sequence[Case]

    def measure(self, contestant: Contestant, standing: Standing) -> None:
        """Start a contestant afresh, measure all cases, and stop it."""
        port, folder = free_port(), self.folder / "contestant"
        rmtree(folder, ignore_errors=True)
        folder.mkdir()
        command = contestant.command(self.upstream_port, port, free_port(), folder)
        probe = self.probe()
        log = self.folder / f"{contestant.name.replace(' ', '-').replace(':', '')}.log"
        environment = contestant.environment()
        with run_server(
            command, core=PROXY_CORE, port=port, probe=probe, log=log, environment=environment
        ) as process:
            standing.start_s.append(process.start_s)
            for case in self.cases:
                cell = standing.cells.setdefault(case.key, Cell())
                self.count(case, port, cell, process, slow=contestant.slow)
            standing.rss_mb.append(process.rss_mb())
        standing.store_mb.append(sum(file.stat().st_size for file in folder.glob("crosswind.db*")) / 1e6)

    def count(self, case: Case, port: int, cell: Cell, process: Process | None, *, slow: bool) -> None:
        """Send a case's requests to a port; `process` None: nothing stands between."""
        before, counted = make_work(case, self.folder, slow=slow)
        if before is not None:
            send(self.generator, port, before, core=OTHER_CORE)
        own = process.cpu_s() if process else 0.0
        upstream = cpu_s(self.upstream.root.pid)
        load = send(self.generator, port, counted, core=OTHER_CORE)
        # What a contestant does after its last answer, such as writing its record, is its cost too.
        time.sleep(0.25)
        own = (process.cpu_s() if process else 0.0) - own
        cell.add(load, own, cpu_s(self.upstream.root.pid) - upstream)

    def probe(self) -> bytes:
        """The request by which a start is timed."""
        first = self.cases[0]
        _, path = make_work(first, self.folder, slow=True)
        return read_work(path)[0][0].replace(b"X-Crosswind-Session: ", b"X-Crosswind-Session: probe-")


def sync_ms(folder: Path) -> list[float]:
    """How long the disk takes to sync an append of 4 KiB, in milliseconds."""
    path, times = folder / "sync", list[float]()
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    try:
        for _ in range(_SYNCS):
            os.write(descriptor, b"x" * 4096)
            started = time.perf_counter()
            os.fsync(descriptor)
            times.append(1e3 * (time.perf_counter() - started))
    finally:
        os.close(descriptor)
        path.unlink()
    return times
