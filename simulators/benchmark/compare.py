"""Two benchmark files of the same tasks, side by side: paired differences per arm and over all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from crosswind.simulators.benchmark.metrics import Difference, mean_by_key, paired
from crosswind.simulators.benchmark.suites import CLEAN, NOISY

OVERALL = "overall"
_MEND = "write it with `crosswind bench --json`"


class NotABenchmarkError(ValueError):
    """The file isn't a benchmark's JSON; the message names it."""


def read(path: Path) -> dict[str, Any]:
    """A benchmark's JSON file."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise NotABenchmarkError(f"{path}: can't be read ({error}); {_MEND}") from None
    if not isinstance(found, dict) or not isinstance(found.get("arms"), dict):
        raise NotABenchmarkError(f"{path}: has no `arms`; {_MEND}")
    return found


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Difference]:
    """After − before for each arm that both have, and `overall` (calm and noisy weigh alike)."""
    old, new = _by_task(before), _by_task(after)
    found = {name: paired(old[name], new[name]) for name in old if name in new}
    return {name: difference for name, difference in found.items() if difference is not None}


def as_json(found: Mapping[str, Difference]) -> dict[str, Any]:
    """The differences as the JSON file has them."""
    return {"arms": {name: asdict(difference) for name, difference in found.items()}}


def _by_task(results: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    arms: dict[str, dict[str, float]] = {name: dict(arm["by_task"]) for name, arm in results["arms"].items()}
    both = [pair for name in (CLEAN, NOISY) for pair in arms.get(name, {}).items()]
    return {**arms, OVERALL: mean_by_key(both)}
