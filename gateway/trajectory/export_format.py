"""What an export format is, and the registry of formats.

A format is a function decorated with `@export_format(name)`. Files of `export_formats` are found by walking
it; a third party's package names a module under the entry-point group `crosswind.export_formats`, or a
package, of which all modules are loaded.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

from crosswind.gateway.trajectory.dose import read_dose
from crosswind.gateway.trajectory.record import Trajectory
from crosswind.gateway.trajectory.store import Store

ENTRY_POINTS = "crosswind.export_formats"


class ViewName(StrEnum):
    """Whose side of a conversation: as the agent had it, or as the policy had it, under noise."""

    CLEAN = "clean"
    PERTURBED = "perturbed"


class ExportRefused(Exception):
    """The export can't be made. The message is one line, with the fix."""


@dataclass(slots=True)
class Selection:
    """What is exported: sessions of a store, oldest first, and how.

    A format notes what it leaves out; the command prints it.
    """

    store: Store
    ids: tuple[str, ...]
    views: tuple[ViewName, ...]
    temperature: float = 1.0
    """What tokens have to be sampled at: log-probabilities at another one answer another question."""
    target: Path | None = None
    """The file that is written; None: standard output."""
    left_out: dict[str, int] = field(default_factory=dict)
    """How many sessions or turns, by reason."""

    def trajectories(self) -> Iterator[Trajectory]:
        """Those that nobody deleted meanwhile."""
        for session_id in self.ids:
            if (found := self.store.trajectory(session_id)) is not None:
                yield found

    def leave_out(self, reason: str) -> None:
        self.left_out[reason] = self.left_out.get(reason, 0) + 1


ExportFormat = Callable[[Selection, BinaryIO], None]
"""Writes a selection. Raises ExportRefused."""
_registered: dict[str, ExportFormat] = {}


def export_format(name: str) -> Callable[[ExportFormat], ExportFormat]:
    """Register the decorated function under its public name. A second format of one name is an error."""

    def register(function: ExportFormat) -> ExportFormat:
        if name in _registered:
            raise ValueError(f"format {name!r} is registered twice: rename that of {function.__module__}")
        _registered[name] = function
        return function

    return register


def export_formats() -> dict[str, ExportFormat]:
    """All formats by name: those of `export_formats` and those of installed packages."""
    _load_modules(importlib.import_module("crosswind.gateway.trajectory.export_formats"))
    for entry in entry_points(group=ENTRY_POINTS):
        _load_modules(entry.load())
    return dict(sorted(_registered.items()))


def _load_modules(package: ModuleType) -> None:
    for module in pkgutil.iter_modules(getattr(package, "__path__", ())):
        importlib.import_module(f"{package.__name__}.{module.name}")


def describe_session(trajectory: Trajectory) -> dict[str, Any]:
    """What is known of a session, as columns that every format names alike."""
    session, plan = trajectory.session, trajectory.session.plan
    versions = {
        name
        for turn in trajectory.turns
        for name in (turn.policy_first, turn.policy_last)
        if name is not None
    }
    return {
        "session_id": session.id,
        "task_id": session.task_id,
        "group_id": session.group_id,
        "rollout_index": session.rollout_index,
        "arm": str(session.arm),
        "noise_type": plan.get("noise_type"),
        "level": plan.get("level"),
        "exposed": read_dose(trajectory).exposed,
        "reward": session.reward,
        "policy_versions": sorted(versions),
    }
