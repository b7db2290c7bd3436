"""Attempts for tests, written short."""

from __future__ import annotations

from typing import Any

from crosswind.figures.attempts import Arm, Attempt, Component, Fault

KINDS = {
    "tool.timeout": ("tool", Component.TRANSITION),
    "user.typos": ("user", Component.OBSERVATION),
    "schema.redundant_tool": ("schema", Component.ACTION),
    "user.cost_cue": ("user", Component.REWARD),
}


def kind_of(operator: str) -> tuple[str, Component | None]:
    return KINDS[operator]


def calm(task: str, success: float | None, sample: int = 0, **given: Any) -> Attempt:
    return Attempt(
        task=task, success=success, sample=sample, sessions=(f"calm-{task}-{sample}",), turns=3, **given
    )


def noisy(task: str, success: float | None, *met: str, sample: int = 0, **given: Any) -> Attempt:
    """A noisy attempt that met these operators, once each, in its second of three turns."""
    faults = tuple(
        Fault(operator=name, kind=KINDS[name][0], component=KINDS[name][1], tool="search", turn=1, stage=1)
        for name in met
    )
    return Attempt(
        **{
            "task": task,
            "success": success,
            "sample": sample,
            "arm": Arm.NOISY,
            "sessions": (f"noisy-{task}-{sample}",),
            "turns": 3,
            "profile": "p",
            "faults": faults,
            "assigned": met,
            **given,
        }
    )
