"""Benchmark results as tables for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from crosswind.simulators.benchmark.metrics import Difference


def results_table(results: Mapping[str, Any]) -> Table:
    """One row per arm."""
    title = (
        f"{results['environment']} {results['split']}: {results['tasks']} tasks, temperature "
        f"{results['temperature']}, policy {results['policy_version'] or 'unknown'}"
    )
    table = Table(title=title, title_justify="left")
    for heading in (
        "arm",
        "episodes",
        "success",
        "95 %",
        "calls",
        "tokens",
        "turns",
        "not executed",
        "errors",
    ):
        table.add_column(heading, justify="left" if heading == "arm" else "right", no_wrap=True)
    for name, arm in results["arms"].items():
        table.add_row(
            name,
            str(arm["n"]),
            f"{arm['success']:.1%}",
            f"{arm['low']:.1%} – {arm['high']:.1%}",
            f"{arm['tool_calls']:.2f}",
            f"{arm['output_tokens']:.1f}",
            f"{arm['turns']:.2f}",
            f"{arm['not_executed']:.1%}",
            str(arm["errors"]),
        )
    return table


def differences_table(found: Mapping[str, Difference]) -> Table:
    """One row per arm: before, after, and the paired difference with its interval."""
    table = Table(title="Paired differences, after − before, in percentage points", title_justify="left")
    for heading in ("arm", "tasks", "before", "after", "difference", "95 %"):
        table.add_column(heading, justify="left" if heading == "arm" else "right", no_wrap=True)
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
