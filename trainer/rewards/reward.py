"""What a reward is: a pure function of a recorded trajectory, found by a registry.

A reward is a function decorated with `@reward(name)`. Files of this package are found by walking it; a third
party's package names a module under the entry-point group `crosswind.rewards`. It is computed when a step is
planned, and the write-ahead row keeps it.
"""

from __future__ import annotations

from collections.abc import Callable

from crosswind.gateway.trajectory.record import Trajectory
from crosswind.trainer.errors import RunRefused
from crosswind.trainer.registry import Registry

RewardFunction = Callable[[Trajectory], float | None]
"""The reward of a closed session that was rewarded; None: it can't be told, and the rollout is left out."""


class UnknownReward(RunRefused):
    """No reward of that name; the message names the nearest."""


_registry: Registry[RewardFunction] = Registry(
    "reward", "crosswind.trainer.rewards", "crosswind.rewards", UnknownReward, "reward"
)


def reward(name: str) -> Callable[[RewardFunction], RewardFunction]:
    """Register the decorated function under its public name. A second reward of one name is an error."""

    def register(function: RewardFunction) -> RewardFunction:
        _registry.register(name, function)
        return function

    return register


def rewards() -> dict[str, RewardFunction]:
    """All rewards by name: those of this package and those of installed packages."""
    return _registry.load()


def resolve_reward(name: str) -> RewardFunction:
    """The reward of that name. Raises UnknownReward, naming the nearest."""
    return _registry.resolve(name)
