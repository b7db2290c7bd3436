"""The trainer's cursor: one row per optimiser step."""

from __future__ import annotations

from dataclasses import dataclass

from crosswind.gateway.trajectory.record import Json


@dataclass(frozen=True, slots=True)
class TrainStep:
    """The write-ahead row of one optimiser step: written before the step, completed after its checkpoint."""

    run: str
    step: int
    group_ids: tuple[str, ...]
    seeds: Json
    created_us: int
    policy_version: str | None = None
    metrics: Json | None = None
    completed_us: int | None = None
