"""What the demo says at its end. Every number comes from the run's own store and evaluations."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing

from rich.console import Console
from rich.table import Table

from crosswind.gateway.trajectory.store import open_store
from crosswind.studies.demo.run import DemoResult
from crosswind.studies.demo.settings import DemoSettings
from crosswind.studies.report.noise_types import type_rows
from crosswind.studies.report.page import Evaluation, arm_rows, verdict


def show(settings: DemoSettings, result: DemoResult, console: Console) -> None:
    """The table of success before and after, the counts, the verdict, and where everything is."""
    console.print(_table(settings, result))
    with closing(open_store(f"sqlite:///{settings.store}")) as store:
        counts, versions, noise = store.counts(), store.versions(), store.summary().noise
    console.print(_types_table(result, noise))
    updates = sum(int(step["optimiser_steps"]) for step in result.steps)
    console.print(
        f"{counts['sessions']:,} sessions, {counts['turns']:,} turns, {counts['events']:,} noise events, "
        f"{len(result.steps)} training steps, {updates} updates, {len(versions)} policy versions served, "
        f"in {result.seconds:.0f} s",
        soft_wrap=True,
    )
    found = verdict(result.comparison)
    if found is not None:
        console.print(found.text, style="bold green" if found.rose else "bold red", soft_wrap=True)
    console.print(f"store   {settings.store}")
    console.print(f"report  {settings.report}")
    console.print(
        f"look    sqlite3 {settings.store} -line "
        "\"SELECT operator, before, after, note FROM readable_event WHERE outcome = 'injected' LIMIT 3\"",
        soft_wrap=True,
        highlight=False,
    )


def _types_table(result: DemoResult, noise: Mapping[str, tuple[int, int]]) -> Table:
    """A line for each noise type, before → after training, in 80 columns. Calm: the same tasks without it."""
    table = Table(
        title="Each noise type: injections in the whole run; success in % on the tasks that were assigned "
        "it; points lost of the episodes that met it",
        title_justify="left",
        box=None,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        header_style="dim",
    )
    for name in ("noise type", "injected", "tasks", "in calm", "in noise", "exposed", "lost to noise"):
        table.add_column(name, justify="left" if name == "noise type" else "right", no_wrap=True)
    for row in type_rows(result.before, result.after, noise):
        table.add_row(
            row.name,
            f"{row.injected:,}",
            str(row.before.n),
            _change(row.before.before, row.after.before),
            _change(row.before.after, row.after.after),
            f"{100 * row.exposure_before:.0f}→{100 * row.exposure_after:.0f}",
            _change(row.gap_before, row.gap_after),
        )
    return table


def _change(before: float, after: float) -> str:
    return f"{100 * before:.1f} → {100 * after:.1f}"


def _table(settings: DemoSettings, result: DemoResult) -> Table:
    table = Table(
        title=f"Success in % [95 % interval] on {settings.held_out_tasks} held-out tasks, "
        f"noise level {settings.evaluation_level}, phrases that training had none of",
        title_justify="left",
        box=None,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        header_style="dim",
    )
    for name in ("arm", "n", "before", "after", "difference, paired"):
        table.add_column(name, justify="left" if name == "arm" else "right", no_wrap=True)
    for row in arm_rows(Evaluation(result.before, result.after, result.comparison)):
        table.add_row(
            row.name,
            str(row.n),
            f"{row.before} {row.before_interval}",
            f"{row.after} {row.after_interval}",
            f"{row.difference} {row.difference_interval}",
        )
    return table
