"""The reward that the session was given, as it is."""

from __future__ import annotations

from crosswind.gateway.trajectory.record import Trajectory
from crosswind.trainer.rewards.reward import reward


@reward("given")
def given(trajectory: Trajectory) -> float | None:
    """What the agent, a verifier or a judge posted last."""
    return trajectory.session.reward
