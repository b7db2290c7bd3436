"""What a reward is: a pure function of a recorded trajectory, found by a registry.

A reward is a function decorated with `@reward(name)`. Files of this package are found by walking it; a third
party's package names a module under the entry-point group `crosswind.rewards`. It is computed when a step is
planned, and the write-ahead row keeps it.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Callable
from importlib.metadata import entry_points

from crosswind.gateway.trajectory.record import Trajectory
from crosswind.trainer.errors import RunRefused

ENTRY_POINTS = "crosswind.rewards"
RewardFunction = Callable[[Trajectory], float | None]
"""The reward of a closed session that was rewarded; None: it can't be told, and the rollout is left out."""
_registered: dict[str, RewardFunction] = {}


class UnknownReward(RunRefused):
    """No reward of that name; the message names the nearest."""


def reward(name: str) -> Callable[[RewardFunction], RewardFunction]:
    """Register the decorated function under its public name. A second reward of one name is an error."""

    def register(function: RewardFunction) -> RewardFunction:
        if name in _registered:
            raise ValueError(f"reward {name!r} is registered twice: rename that of {function.__module__}")
        _registered[name] = function
        return function

    return register


def rewards() -> dict[str, RewardFunction]:
    """All rewards by name: those of this package and those of installed packages."""
    package = importlib.import_module("crosswind.trainer.rewards")
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
    for entry in entry_points(group=ENTRY_POINTS):
        entry.load()
    return dict(sorted(_registered.items()))


def resolve_reward(name: str) -> RewardFunction:
    """The reward of that name. Raises UnknownReward, naming the nearest."""
    known = rewards()
    if name in known:
        return known[name]
    nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.0)
    raise UnknownReward(f"reward: no {name!r}; the nearest is {nearest[0]!r} of {', '.join(known)}")
