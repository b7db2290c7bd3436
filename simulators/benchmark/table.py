"""Benchmark results as tables for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from crosswind.simulators.benchmark.metrics import PairedDifference


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
        "injected",
        "withheld",
        "calls",
        "tokens",
        "turns",
        "not executed",
        "errors",
    )
    _add_columns(table, "arm", *headings)
    for name, arm in results["arms"].items():
        table.add_row(
            name,
            str(arm["n"]),
            *_success_cells(arm),
            str(arm.get("injected", "")),
            str(arm.get("withheld", "")),
            f"{arm['tool_calls']:.2f}",
            f"{arm['output_tokens']:.1f}",
            f"{arm['turns']:.2f}",
            f"{arm['not_executed']:.1%}",
            str(arm["errors"]),
        )
    return table


NO_NOISE = "no noise acted"
"""In place of the success of an arm in which nothing was injected."""


def _success_cells(arm: Mapping[str, Any]) -> tuple[str, str]:
    if arm["success"] is None:
        return NO_NOISE, ""
    return f"{arm['success']:.1%}", f"{arm['low']:.1%} – {arm['high']:.1%}"


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
