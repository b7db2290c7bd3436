"""The benchmark of the trainer's step beside TRL's: `make bench-trainer`.

Both take steps on the same 128 rollouts, which the demo's own parts play first. Contestants take turns within
a case, one thread each; ratios are what to look at.
"""

from __future__ import annotations

import asyncio
import shlex
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from shutil import rmtree
from typing import Any

import click
import orjson

from benchmarks.gateway.machine import machine
from benchmarks.sections import put_section
from benchmarks.trainer.contestants import Step, start
from benchmarks.trainer.material import MATERIALS, play, prepare, time_ingestion
from benchmarks.trainer.report import section

FOLDER = Path("runs/bench-trainer")
POLICY = Path("policies/pretrained/retail")


@dataclass(frozen=True, slots=True)
class Case:
    """What is compared: rollouts, and passes over them."""

    material: str
    passes: int


CASES = [Case(material, passes) for material in MATERIALS for passes in (1, 2)]


@click.command()
@click.option("--trl", type=click.Path(path_type=Path, exists=True), required=True, help="Its environment.")
@click.option("--quick", is_flag=True, help="Two rounds, fewer of TRL's micro-batches: for development.")
@click.option("--rounds", type=click.IntRange(1), help="How often all is measured.  [4; quick: 2]")
@click.option("--out", type=click.Path(path_type=Path), help="The page.  [runs/bench-trainer/table.md]")
def main(trl: Path, quick: bool, rounds: int | None, out: Path | None) -> None:
    """Measure the trainer's step beside TRL's, and write a section of the page and its figures as JSON."""
    rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    run: dict[str, Any] = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "command": f"make bench-trainer{' QUICK=1' if quick else ''}",
        "rounds": rounds or (2 if quick else 4),
        "machine": machine(),
    }
    click.echo("128 rollouts are played")
    asyncio.run(play(FOLDER))
    run["rollouts"] = prepare(FOLDER)
    run["ingestion_s"] = time_ingestion(FOLDER)
    sizes = (8, 16) if quick else (8, 16, 32)
    run["cases"] = [_measure(case, trl, sizes, run["rounds"]) for case in CASES]
    figures = orjson.dumps(run, option=orjson.OPT_INDENT_2).decode()
    (FOLDER / "figures.json").write_text(figures)
    text = section(run, figures)
    put_section(out or FOLDER / "table.md", "trainer", text)
    click.echo(text)


def _measure(case: Case, trl: Path, sizes: Sequence[int], rounds: int) -> dict[str, Any]:
    """Steps of all contestants, in turns, after one of each that doesn't count."""
    material = FOLDER / f"{case.material}.json"
    contestants = [start("Crosswind", _ours(material, case), FOLDER / "ours.log")]
    try:
        for size in sizes:
            command = _theirs(trl, material, case, size)
            contestants.append(start(f"TRL, micro-batches of {size}", command, FOLDER / f"trl-{size}.log"))
        for each in contestants:
            click.echo(f"$ {shlex.join(each.command)}")
        steps: dict[str, list[Step]] = {each.name: [] for each in contestants}
        for _ in range(rounds + 1):
            for each in contestants:
                steps[each.name].append(each.step())
    finally:
        for each in contestants:
            each.stop()
    return {
        "material": case.material,
        "passes": case.passes,
        "contestants": {name: _summarise(taken) for name, taken in steps.items()},
    }


def _summarise(taken: Sequence[Step]) -> dict[str, float]:
    counted = taken[1:]
    return {
        "cpu_s": statistics.median(each["cpu_s"] for each in counted),
        "wall_s": statistics.median(each["wall_s"] for each in counted),
        "growth_mb": taken[-1]["growth_mb"],
        "loss": taken[0]["loss"],
        "gradient": taken[0]["gradient"],
    }


def _ours(material: Path, case: Case) -> list[str]:
    return [sys.executable, "-m", "benchmarks.trainer.ours", str(POLICY), str(material), str(case.passes)]


def _theirs(trl: Path, material: Path, case: Case, size: int) -> list[str]:
    script = str(Path(__file__).with_name("theirs.py"))
    return [str(trl / "bin" / "python"), script, str(POLICY), str(material), str(case.passes), str(size)]


if __name__ == "__main__":
    main()
