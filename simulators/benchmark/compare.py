"""Two benchmark files of the same tasks, side by side: paired differences per arm and over all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from crosswind.figures.paired import PairedDifference, compare_paired, mean_by_key
from crosswind.simulators.benchmark.suites import CLEAN, NOISY

OVERALL = "overall"
_FIX = "write it with `crosswind bench --json`"


class NotABenchmarkError(ValueError):
    """The file isn't a benchmark's JSON; the message names it."""


def read_benchmark(path: Path) -> dict[str, Any]:
    """Read a benchmark's JSON file. Raises NotABenchmarkError."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise NotABenchmarkError(f"{path}: can't be read ({error}); {_FIX}") from None
    if not isinstance(found, dict) or not isinstance(found.get("arms"), dict):
        raise NotABenchmarkError(f"{path}: has no `arms`; {_FIX}")
    return found


def compare_benchmarks(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, PairedDifference]:
    """After − before for each arm that both have, and `overall` (calm and noisy weigh alike)."""
    old, new = _by_task(before), _by_task(after)
    found = {name: compare_paired(old[name], new[name]) for name in old if name in new}
    return {name: difference for name, difference in found.items() if difference is not None}


def find_asleep(*results: Mapping[str, Any]) -> list[str]:
    """The arms in which no noise acted, in any of the runs."""
    arms = (item for one in results for item in one["arms"].items())
    return list(dict.fromkeys(name for name, arm in arms if arm.get("success", 0.0) is None))


def _by_task(results: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    arms: dict[str, dict[str, float]] = {name: dict(arm["by_task"]) for name, arm in results["arms"].items()}
    both = [pair for name in (CLEAN, NOISY) for pair in arms.get(name, {}).items()]
    return {**arms, OVERALL: mean_by_key(both)}
