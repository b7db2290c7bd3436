"""CPU per request in pairs: all contestants stand at once and take the same slices of work in turn.

A busy machine slows down neighbours in time alike, so that the ratio of two contestants in one slice holds
still where their own figures don't. Every other slice goes backwards.
"""

from __future__ import annotations

import statistics
import time
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree
from typing import Any

from benchmarks.gateway.cases import KINDS, Case
from benchmarks.gateway.compiled import STEP_US, build, send
from benchmarks.gateway.contestants import Contestant, Crosswind
from benchmarks.gateway.measure import OTHER_CORE, PROXY_CORE
from benchmarks.gateway.work import head, make_work
from benchmarks.processes import Process, run_server
from crosswind.studies.stack import free_port

SLICES = 7
_CONNECTIONS = 16
_SLICE = (("2k", 256), ("60k", 128), ("stream", 144), ("60k new", 32))
"""The kinds, and how many requests of each make a slice."""
_PATIENCE = {"CROSSWIND_DURABILITY_WAIT": "30"}
"""On a busy machine a sync may take longer than a turn waits for it by default."""
_BODY = b'{"model":"bench","messages":[{"role":"user","content":"hello"}]}'

_LEAST_NOISE = 0.5
"""Of the events that the contestant with the most injected, the share that each injects: who has less lost
its noise. `ceiling` accounts for smaller differences.
"""


class Unsound(Exception):
    """A contestant whose figures don't count: the message says what it did."""


@dataclass(slots=True)
class _Standing:
    contestant: Contestant
    process: Process
    port: int
    control: int
    cpu_ms: dict[str, list[float]] = field(default_factory=dict)
    """By kind: CPU milliseconds per request, slice by slice."""
    injected: dict[str, int] = field(default_factory=dict)
    """By kind: the events of noise in all its slices."""
    failed: int = 0


def measure_pairs(
    folder: Path, contestants: Sequence[Contestant], *, slices: int = SLICES, kinds: Sequence[str] = ()
) -> dict[str, Any]:
    """Measure all contestants slice by slice. Raises Unsound where one failed, warned, or lost its noise."""
    chosen = [(KINDS[name], count) for name, count in _SLICE if not kinds or name in kinds]
    cases = [Case(kind, _CONNECTIONS, count, count) for kind, count in chosen]
    build("load", folder)
    with ExitStack() as stack:
        port = free_port()
        command = [str(build("upstream", folder)), str(port), str(STEP_US)]
        probe, log = head("probe", 2) + b"{}", folder / "upstream.log"
        stack.enter_context(
            run_server(command, core=OTHER_CORE, port=port, probe=probe, log=log, environment={})
        )
        standings = [_start(stack, one, port, folder) for one in contestants]
        for number in range(slices + 1):
            for case in cases:
                _measure_slice(case, number, standings if number % 2 else standings[::-1], folder)
        for standing in standings:
            _check(standing)
        noisy = [one for one in standings if _has_noise(one.contestant)]
    injected = {one.contestant.name: one.injected for one in noisy}
    totals = {name: sum(of_kind.values()) for name, of_kind in injected.items()}
    if totals and min(totals.values()) < _LEAST_NOISE * max(totals.values()):
        raise Unsound(f"contestants under the same profile injected different numbers of events: {totals}")
    return {
        "slices": slices,
        "injected": injected,
        "cpu_ms": {one.contestant.name: one.cpu_ms for one in standings},
    }


def ratios(run: Mapping[str, Any], name: str, other: str, kind: str) -> tuple[float, float, float]:
    """CPU of one contestant as a share of another's in the same slices: median, least and most."""
    pairs = zip(run["cpu_ms"][name][kind], run["cpu_ms"][other][kind], strict=True)
    shares = sorted(own / theirs for own, theirs in pairs)
    return statistics.median(shares), shares[0], shares[-1]


def ceiling(run: Mapping[str, Any], name: str, other: str, quiet: str, kind: str) -> float:
    """`ratios`'s median, had the first injected as many events as the other: with as much more of what its
    noise costs beyond `quiet`, the same without noise. It is the most, as a part of that is for each text.

    Operators draw otherwise than those of an earlier commit, and leave other texts clean.
    """
    own, theirs = (run["injected"].get(one, {}).get(kind, 0) for one in (name, other))
    more = max(0.0, theirs / own - 1) if own else 0.0
    cpu = (run["cpu_ms"][one][kind] for one in (name, quiet, other))
    shares: list[float] = [(a + more * max(0.0, a - b)) / c for a, b, c in zip(*cpu, strict=True)]
    return statistics.median(shares)


def _start(stack: ExitStack, contestant: Contestant, upstream: int, folder: Path) -> _Standing:
    port, control = free_port(), free_port()
    stem = contestant.name.replace(" ", "-").replace(":", "").replace(",", "")
    own = folder / f"paired-{stem}"
    rmtree(own, ignore_errors=True)
    own.mkdir()
    process = stack.enter_context(
        run_server(
            contestant.command(upstream, port, control, own),
            core=PROXY_CORE,
            port=port,
            probe=head("probe", len(_BODY)) + _BODY,
            log=folder / f"paired-{stem}.log",
            environment={**_PATIENCE, **contestant.environment()},
        )
    )
    return _Standing(contestant, process, port, control)


def _measure_slice(case: Case, number: int, standings: Sequence[_Standing], folder: Path) -> None:
    """One slice of a case for each contestant. The first one, number 0, warms up and doesn't count."""
    before, counted = make_work(case, folder, slow=False, part=number)
    for one in standings:
        if before is not None:
            send(folder / "load", one.port, before, core=OTHER_CORE)
        events = _count_injected(one) if _has_noise(one.contestant) else 0
        cpu_s = one.process.cpu_s()
        load = send(folder / "load", one.port, counted, core=OTHER_CORE)
        # What a contestant does after its last answer, such as writing its record, is its cost too.
        time.sleep(0.15)
        one.failed += load.failed
        if number:
            spent = 1e3 * (one.process.cpu_s() - cpu_s) / len(load.records)
            one.cpu_ms.setdefault(case.kind.name, []).append(spent)
            if _has_noise(one.contestant):
                injected = _count_injected(one) - events
                one.injected[case.kind.name] = one.injected.get(case.kind.name, 0) + injected


def _check(standing: _Standing) -> None:
    name, log = standing.contestant.name, standing.process.log
    if standing.failed:
        raise Unsound(f"{name}: {standing.failed} answers failed; see {log}")
    if isinstance(standing.contestant, Crosswind):
        said = [line for line in log.read_text().splitlines() if "[warning" in line or "[error" in line]
        if said:
            raise Unsound(f"{name} logged {len(said)} warnings or errors, the first: {said[0]}")


def _has_noise(contestant: Contestant) -> bool:
    return isinstance(contestant, Crosswind) and "off" not in contestant.flags


def _count_injected(standing: _Standing) -> int:
    """How many events of noise a gateway has counted."""
    with urllib.request.urlopen(f"http://127.0.0.1:{standing.control}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    return round(sum(float(line.split()[-1]) for line in lines if line.startswith("crosswind_events_total")))
