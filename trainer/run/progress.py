"""What a run says while it goes: human lines, or JSON lines for programs."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, TextIO

import orjson

from crosswind.trainer.rollouts.groups import Group


class Progress:
    """Writes to standard output, a line at a time. JSON lines carry {"event": "note" | "step", ...}."""

    def __init__(self, *, as_json: bool, stream: TextIO | None = None) -> None:
        self._as_json = as_json
        self._stream = stream

    def note(self, message: str, **values: Any) -> None:
        """Something to know. `values` goes into the JSON line only."""
        self._write({"event": "note", "message": message, **values} if self._as_json else message)

    def step(self, metrics: Mapping[str, Any]) -> None:
        """A training step's end."""
        self._write({"event": "step", **metrics} if self._as_json else _line(metrics))

    def _write(self, line: str | Mapping[str, Any]) -> None:
        text = line if isinstance(line, str) else orjson.dumps(line).decode()
        print(text, file=self._stream or sys.stdout, flush=True)


def success(groups: list[Group], success_at: float) -> dict[str, Any]:
    """Clean and noisy success of these groups, per noise type too; None where an arm is empty."""
    arms: dict[str, list[bool]] = {}
    for group in groups:
        for rollout in group.rollouts:
            solved = rollout.reward >= success_at
            arms.setdefault(str(rollout.arm), []).append(solved)
            if rollout.noise_type is not None:
                arms.setdefault(rollout.noise_type, []).append(solved)
    rates = {name: sum(solved) / len(solved) for name, solved in sorted(arms.items())}
    return {
        "clean_success": rates.pop("clean", None),
        "noisy_success": rates.pop("noisy", None),
        "success_by_type": rates,
    }


def _line(metrics: Mapping[str, Any]) -> str:
    def share(name: str) -> str:
        return "  –  " if metrics[name] is None else f"{100 * metrics[name]:4.0f}%"

    levels = " ".join(f"{name}:{level}" for name, level in metrics["levels"].items())
    fields = (
        f"step {metrics['step']:>3}",
        str(metrics["version"]),
        f"groups {metrics['groups']} ({metrics['filtered_groups']} even)",
        f"clean {share('clean_success')}",
        f"noisy {share('noisy_success')}",
        f"loss {metrics['loss']:+.4f}",
        f"kl {metrics['kl']:.1e}",
        f"clipped {share('clip_share')}",
        f"entropy {metrics['entropy']:.3f}",
        f"rho {metrics['rho']:.2f}",
        f"{metrics['seconds']:.1f} s",
    )
    return "  ".join(fields) + (f"  levels {levels}" if levels else "")
