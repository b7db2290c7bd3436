"""The gateway's benchmark: `make bench-gateway`, or `python -m benchmarks.gateway --quick`.

All contestants stand in turn between one load generator and one upstream, on one machine, in one run: a
contestant's processes on core 0, all else on core 1. Every round starts each afresh; every other round goes
backwards.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from benchmarks.gateway.cases import Case, cases
from benchmarks.gateway.compiled import STEP_US, build, quantile
from benchmarks.gateway.contestants import CONTESTANTS, DIRECT, Contestant, Missing
from benchmarks.gateway.conversations import converse
from benchmarks.gateway.machine import machine
from benchmarks.gateway.measure import OTHER_CORE, Bench, Cell, Standing, sync_ms
from benchmarks.gateway.report import markdown
from benchmarks.gateway.work import head
from benchmarks.processes import DidNotStart, run_server
from benchmarks.sections import list_sections
from crosswind.studies.stack import free_port

FOLDER = Path("runs/bench-gateway")


@click.command()
@click.option("--quick", is_flag=True, help="One round of few requests: for development, under 3 minutes.")
@click.option(
    "--rounds", type=click.IntRange(1), help="How often each contestant is measured.  [2; quick: 1]"
)
@click.option("--only", multiple=True, help="Measure only contestants whose name holds this, and direct.")
@click.option(
    "--without", multiple=True, help="Leave out contestants whose name holds this; the table says so."
)
@click.option("--case", "named", multiple=True, help="Measure only these kinds of case, such as 60k.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="The table's file.  [runs/bench-gateway/table.md]"
)
def main(
    quick: bool,
    rounds: int | None,
    only: tuple[str, ...],
    without: tuple[str, ...],
    named: tuple[str, ...],
    out: Path,
) -> None:
    """Measure the gateway beside others, and write a table and its figures as JSON."""
    if (os.cpu_count() or 1) < 2:
        raise click.ClickException(
            "two cores are needed: one for what is measured, one for load and upstream"
        )
    FOLDER.mkdir(parents=True, exist_ok=True)
    folder = FOLDER.resolve()
    chosen = [one for one in CONTESTANTS if not only or any(part in one.name for part in only)]
    chosen = [one for one in chosen if not any(part in one.name for part in without)]
    try:
        versions = {one.name: one.installed(folder) for one in chosen}
    except Missing as missing:
        raise click.ClickException(str(missing)) from None
    rounds = rounds or (1 if quick else 2)
    kinds = [case for case in cases(quick=quick) if not named or case.kind.name in named]
    run: dict[str, Any] = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "command": " ".join(["python -m benchmarks.gateway", *map(shlex.quote, sys.argv[1:])]),
        "rounds": rounds,
        "machine": machine(),
        "versions": versions,
        "left_out": [one.name for one in CONTESTANTS if one not in chosen],
        "step_ms": STEP_US / 1000,
        "cases": {case.key: _describe_case(case) for case in kinds},
    }
    os.sched_setaffinity(0, {OTHER_CORE})
    syncs = sync_ms(folder)
    standings = _measure(folder, kinds, chosen, rounds)
    run["sync_p50_ms"] = quantile(syncs + sync_ms(folder), 0.5)
    run["contestants"] = {name: _describe(standing) for name, standing in standings.items()}
    failed = {
        name: sum(cell.failed for cell in standing.cells.values()) for name, standing in standings.items()
    }
    path = out or folder / "table.md"
    (folder / "figures.json").write_text(json.dumps(run, indent=1) + "\n")
    path.parent.mkdir(parents=True, exist_ok=True)
    page = path.read_text() if path.exists() else ""
    path.write_text("\n".join([markdown(run), *list_sections(page)]))
    click.echo(f"{path} and {folder / 'figures.json'} written")
    if any(failed.values()):
        raise click.ClickException(f"answers failed: {failed}; see the logs in {folder}")


def _measure(folder: Path, kinds: list[Case], chosen: list[Contestant], rounds: int) -> dict[str, Standing]:
    standings = {name: Standing() for name in (DIRECT, *(one.name for one in chosen))}
    port = free_port()
    command = [str(build("upstream", folder)), str(port), str(STEP_US)]
    generator, log, probe = build("load", folder), folder / "upstream.log", head("probe", 2) + b"{}"
    with run_server(command, core=OTHER_CORE, port=port, probe=probe, log=log, environment={}) as upstream:
        bench = Bench(generator, upstream, port, folder, kinds)
        for number in range(rounds):
            click.echo(f"round {number + 1} of {rounds}: {DIRECT}", err=True)
            for case in kinds:
                bench.count(
                    case, port, standings[DIRECT].cells.setdefault(case.key, Cell()), None, slow=False
                )
            for one in chosen if number % 2 == 0 else chosen[::-1]:
                click.echo(f"round {number + 1} of {rounds}: {one.name}", err=True)
                try:
                    bench.measure(one, standings[one.name])
                except DidNotStart as error:
                    raise click.ClickException(f"{one.name}: {error}") from None
    return standings


def _describe_case(case: Case) -> dict[str, Any]:
    shape, turns = case.kind.shape, range(case.kind.first, case.kind.last + 1)
    one = converse("agent-for-its-size", shape, case.kind.last)
    sizes = [one.ends[turn - 1] + len(one.tail) for turn in turns]
    return {
        "kind": case.kind.name,
        "connections": case.connections,
        "request_bytes": round(sum(sizes) / len(sizes)),
    }


def _describe(standing: Standing) -> dict[str, Any]:
    def mean(values: list[float]) -> float | None:
        return sum(values) / len(values) if values else None

    return {
        "cases": {key: cell.figures() for key, cell in standing.cells.items()},
        "start_s": mean(standing.start_s),
        "rss_mb": mean(standing.rss_mb),
        "store_mb": mean(standing.store_mb),
    }


if __name__ == "__main__":
    main()
