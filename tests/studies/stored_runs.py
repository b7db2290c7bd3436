"""Stores of clean and noisy sessions with known outcomes."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from crosswind.gateway.trajectory.record import Arm, Reward, Row
from crosswind.gateway.trajectory.store import open_store
from tests.gateway.trajectory import rows

PLAN = {"profile": "flaky", "rules": [{"operator": "tool.timeout"}]}


def write_run(
    path: Path,
    clean: int,
    noisy: int,
    of: int = 20,
    *,
    injected: bool = True,
    rewarded: bool = True,
    **labels: str,
) -> str:
    """A store in which so many of the tasks were solved clean, and under noise. Returns its path."""
    found: list[Row] = []
    for arm, solved in ((Arm.CLEAN, clean), (Arm.NOISY, noisy)):
        for task in range(of):
            name = f"{'-'.join([*labels.values(), arm.value])}-{task}"
            plan = PLAN if arm is Arm.NOISY else {"profile": "off"}
            found += [
                rows.session(name, arm=arm, task_id=f"task-{task:02}", plan=plan, labels=labels),
                rows.turn(name, 0, usage={"prompt_tokens": 100, "completion_tokens": 10}),
                rows.turn(name, 1),
                *([Reward(name, 1, float(task < solved))] if rewarded else []),
            ]
            if arm is Arm.NOISY:
                note = "The tool isn't known to be repeatable."
                given = {} if injected else {"after": None, "note": note}
                found.append(rows.event(name, 1, **given))
    with closing(open_store(f"sqlite:///{path}")) as store:
        store.write(found)
    return str(path)
