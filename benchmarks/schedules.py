"""What the demo's schedule is worth: its training beside that at a fixed level, and with noise on all.

python -m benchmarks.schedules --seeds 0,1

Each run is the demo's: its parts, its start, its steps. Held-out tasks are played under every type of noise,
and differences are paired by task and seed. A run that is there already isn't taken again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from crosswind.figures.paired import PairedDifference, compare_paired, mean_by_key
from crosswind.studies.demo.settings import DemoSettings
from crosswind.studies.stack import Processes, RunningGateway, run_bench, start_engine, start_gateway

SCHEDULE = "the preset's schedule"
_FIXED = ("curriculum.kind=fixed", "curriculum.fixed.level=3")
SETTINGS: Mapping[str, Sequence[str]] = {
    SCHEDULE: (),
    "fixed level 3, ρ = 0.5": (*_FIXED, "curriculum.fixed.rho=0.5"),
    "noise on all, level 3": (*_FIXED, "curriculum.fixed.rho=1"),
}
"""What each run changes of the demo's preset."""
TOOL, USER = "tool noise", "user noise"
ROWS = {"noisy": ("",), TOOL: ("tool.",), USER: ("user.",), "clean": ()}
_WAIT_S = 120.0

ByTask = dict[str, float]


@click.command()
@click.option("--seeds", default="0,1", show_default=True)
@click.option("--tasks", type=click.IntRange(2), default=256, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs/schedules"), show_default=True)
def main(seeds: str, tasks: int, out: Path) -> None:
    """Train under each setting, and print the table."""
    gathered: dict[str, dict[str, ByTask]] = {}
    for seed in map(int, seeds.split(",")):
        for name, changes in SETTINGS.items():
            folder = out / f"{'-'.join(changes) or 'schedule'}-{seed}"
            if not (folder / "after.json").exists():
                asyncio.run(train(DemoSettings(seed=seed, out=folder, held_out_tasks=tasks), changes))
            for row, by_task in read_rows(folder / "after.json").items():
                keyed = {f"{seed} {task}": success for task, success in by_task.items()}
                gathered.setdefault(row, {}).setdefault(name, {}).update(keyed)
    click.echo(table(gathered))


async def train(settings: DemoSettings, changes: Sequence[str]) -> None:
    """One run, and its evaluation under every type of noise."""
    async with Processes(settings.out / "logs") as processes:
        engine = await start_engine(processes, settings.policy, "--engine", settings.engine, wait_s=_WAIT_S)
        noise = ("--profile", settings.profile, "--seed", str(settings.seed), "--capture", "on")
        gateway = await start_gateway(processes, f"{engine}/v1", settings.store, *noise, wait_s=_WAIT_S)
        await _take_steps(processes, settings, engine, gateway, changes)
        await run_bench(
            processes,
            *("--control", gateway.control, "--environment", "retail", "--split", "test"),
            *("--tasks", str(settings.held_out_tasks), "--profile", settings.profile, "--phrases", "test"),
            *("--level", str(settings.evaluation_level), "--temperature", "1.0"),
            *("--seed", str(settings.seed), "--concurrency", str(settings.concurrency)),
            out=settings.out / "after.json",
        )


async def _take_steps(
    processes: Processes,
    settings: DemoSettings,
    engine: str,
    gateway: RunningGateway,
    changes: Sequence[str],
) -> None:
    """The demo's steps without its limit of time, and the figures of each in `steps.jsonl`."""
    changed = (part for change in changes for part in ("--set", change))
    trainer = await processes.start(
        "train",
        *("train", "run", "--preset", "demo", "--store", gateway.store, "--policy", settings.policy),
        *("--engine", engine, "--control", gateway.control, "--steps", str(settings.steps)),
        *("--groups-per-step", str(settings.groups_per_step), "--group-size", str(settings.group_size)),
        *("--seed", str(settings.seed), "--out", str(settings.out / "train"), "--json-progress"),
        *("--metrics-file", str(settings.out / "steps.jsonl"), *changed),
        listen=True,
    )
    lines = trainer.lines()
    # Its first line comes after it declared its curriculum, which groups are to follow.
    await anext(lines, "")
    rollouts = await processes.start(
        "rollout",
        *("rollout", "run", "--control", gateway.control, "--environment", "retail", "--split", "train"),
        *("--group-size", str(settings.group_size), "--concurrency", str(settings.concurrency)),
        *("--profile", settings.profile, "--temperature", "1.0", "--seed", str(settings.seed)),
    )
    async for _ in lines:
        pass
    await trainer.wait_for_success()
    await rollouts.stop()


def read_rows(path: Path) -> dict[str, ByTask]:
    """Success of each task: clean, and its mean over types of noise."""
    arms: dict[str, dict[str, Any]] = json.loads(path.read_text("utf-8"))["arms"]
    found = {"clean": dict(arms["clean"]["by_task"])}
    for row, prefixes in ROWS.items():
        types = [arm for arm in arms if "." in arm and arm.startswith(prefixes)]
        if types:
            found[row] = mean_by_key([pair for arm in types for pair in arms[arm]["by_task"].items()])
    return found | {arm: dict(arms[arm]["by_task"]) for arm in arms if "." in arm}


def table(gathered: Mapping[str, Mapping[str, ByTask]]) -> str:
    """Success in percent under each setting, and how far the schedule is from the others."""
    others = [name for name in SETTINGS if name != SCHEDULE]
    lines = [
        f"| | {' | '.join(SETTINGS)} | {' | '.join(f'schedule against {name}' for name in others)} |",
        "|---" * (1 + len(SETTINGS) + len(others)) + "|",
    ]
    for row in sorted(gathered, key=lambda name: (list(ROWS).index(name) if name in ROWS else 9, name)):
        found = gathered[row]
        means = (f"{100 * sum(each.values()) / len(each):.1f}" for each in found.values())
        compared = (_format(compare_paired(found[name], found[SCHEDULE])) for name in others)
        lines.append(f"| {row} | {' | '.join(means)} | {' | '.join(compared)} |")
    return "\n".join(lines)


def _format(found: PairedDifference | None) -> str:
    if found is None:
        return "no common tasks"
    return f"{100 * found.difference:+.1f} [{100 * found.low:+.1f}, {100 * found.high:+.1f}]"


if __name__ == "__main__":
    main()
