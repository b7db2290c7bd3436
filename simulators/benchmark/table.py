"""Benchmark results as tables for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from crosswind.figures.paired import PairedDifference
from crosswind.simulators.benchmark.suites import CLEAN


def results_table(results: Mapping[str, Any]) -> Table:
    title = (
        f"{results['environment']} {results['split']}: {results['tasks']} tasks, temperature "
        f"{results['temperature']}, policy {results['policy_version'] or 'unknown'}"
    )
    table = Table(title=title, title_justify="left")
    headings = (
        "episodes",
        "success",
        "95 %",
        "calls",
        "tokens",
        "turns",
        "not executed",
        "errors",
    )
    # Avg@k is the success itself.
    k = results.get("samples", 1)
    several = (f"Pass@{k}", f"pass^{k}") if k > 1 else ()
    _add_columns(table, "arm", *headings[:3], *several, *headings[3:])
    for name, arm in results["arms"].items():
        table.add_row(
            name,
            str(arm["n"]),
            *_success_cells(arm),
            *(_at_k_cells(arm, k) if several else ()),
            f"{arm['tool_calls']:.2f}",
            f"{arm['output_tokens']:.1f}",
            f"{arm['turns']:.2f}",
            f"{arm['not_executed']:.1%}",
            str(arm["errors"]),
        )
    return table


def dose_table(results: Mapping[str, Any]) -> Table | None:
    """What the noisy arms met, and what it cost them; None where nothing was counted."""
    rows = {name: arm for name, arm in results["arms"].items() if name != CLEAN and "exposed" in arm}
    if not rows:
        return None
    table = Table(
        title="Dose, and points of success that noise cost the exposed episodes, and all",
        title_justify="left",
    )
    _add_columns(table, "arm", "assigned", "exposed", *_COUNTS, "lost", "95 %", "over all", "95 %")
    for name, arm in rows.items():
        counts = ["–" if arm[what] is None else f"{arm[what]:,}" for what in _COUNTS]
        cost = arm.get("cost") or {}
        lost = _cost_cells(cost, "gap", "low", "high")
        whole = _cost_cells(cost, "as_assigned", "as_assigned_low", "as_assigned_high")
        share = f"{arm['exposed'] / max(1, arm['assigned']):.0%}"
        table.add_row(name, str(arm["assigned"]), share, *counts, *lost, *whole)
    return table


def _cost_cells(cost: Mapping[str, Any], value: str, low: str, high: str) -> tuple[str, str]:
    if cost.get(value) is None:
        return "", ""
    return f"{100 * cost[value]:+.1f}", f"{100 * cost[low]:+.1f} – {100 * cost[high]:+.1f}"


_COUNTS = ("eligible", "decided", "injected", "withheld")
NO_NOISE = "no noise acted"
"""In place of the success of an arm in which nothing was injected."""


def _success_cells(arm: Mapping[str, Any]) -> tuple[str, str]:
    if arm["success"] is None:
        return NO_NOISE, ""
    return f"{arm['success']:.1%}", f"{arm['low']:.1%} – {arm['high']:.1%}"


def _at_k_cells(arm: Mapping[str, Any], k: int) -> tuple[str, str]:
    found = next((one for one in arm.get("at_k", ()) if one["k"] == k), None)
    return ("–", "–") if found is None else (f"{found['any']:.1%}", f"{found['all']:.1%}")


def differences_table(found: Mapping[str, PairedDifference]) -> Table:
    """One row per arm: before, after, and the paired difference with its interval."""
    table = Table(title="Paired differences, after − before, in percentage points", title_justify="left")
    _add_columns(table, "arm", "tasks", "before", "after", "difference", "95 %")
    for name, row in found.items():
        table.add_row(
            name,
            str(row.n),
            f"{row.before:.1%}",
            f"{row.after:.1%}",
            f"{100 * row.difference:+.1f}",
            f"{100 * row.low:+.1f} – {100 * row.high:+.1f}",
        )
    return table


def _add_columns(table: Table, first: str, *others: str) -> None:
    table.add_column(first, no_wrap=True)
    for heading in others:
        table.add_column(heading, justify="right", no_wrap=True)
