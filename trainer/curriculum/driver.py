"""Drive the curriculum: feed it each step's rollouts, keep its state, declare it to the gateway."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from crosswind.gateway.client import GatewayError
from crosswind.gateway.trajectory.record import Arm, Setting
from crosswind.injectors.engine.curriculum import Curriculum
from crosswind.injectors.profiles import load as profiles
from crosswind.trainer.config.settings import CurriculumSettings
from crosswind.trainer.curriculum import gap
from crosswind.trainer.rollouts.groups import Group

STATE_KIND = "curriculum_state"
"""The kind of the store's setting that holds the scheduler's memory; its name is the run's."""


class CurriculumSink(Protocol):
    """Plans new sessions by the curriculum: the gateway's control plane."""

    def get_curriculum(self) -> Mapping[str, Any] | None: ...

    def put_curriculum(self, curriculum: Mapping[str, Any]) -> None: ...


class CurriculumDriver:
    """A curriculum with its settings. Without one (`kind: off`) nothing is ever declared, and noise stays as
    it is.
    """

    def __init__(self, settings: CurriculumSettings, stored: Mapping[str, Any] | None = None) -> None:
        """Go on from a stored state, or begin. Raises ValueError where the profile or a level isn't there."""
        self.settings = settings
        self.state: gap.GapState | None = None
        if settings.kind == "gap":
            self.state = gap.GapState.from_json(stored) if stored else _begin(settings)

    def observe(self, groups: Sequence[Group]) -> list[str]:
        """Feed in a step's groups. Returns what changed, in words."""
        if self.state is None:
            return []
        self.state, changes = gap.advance(self.state, _observations(groups), self.settings.gap)
        return changes

    def continue_numbering(self, sink: CurriculumSink | None) -> None:
        """Number this run's curricula on from the one in force, so that no version means two things."""
        current = sink.get_curriculum() if sink is not None else None
        if self.state is not None and current is not None:
            self.state = replace(self.state, version=int(current["version"]) + 1)

    def declare(self, sink: CurriculumSink | None) -> str | None:
        """Declare the curriculum to the control plane (idempotent). Returns the reason if that fails."""
        if sink is None or self.state is None:
            return None
        try:
            sink.put_curriculum(self.curriculum(self.state).to_json())
        except GatewayError as error:
            return str(error)
        return None

    def curriculum(self, state: gap.GapState) -> Curriculum:
        """The curriculum as it is declared to the gateway."""
        return gap.curriculum(
            state, group_share=self.settings.group_share, seed_scope=self.settings.seed_scope
        )

    def to_json(self) -> dict[str, Any] | None:
        return self.state.to_json() if self.state is not None else None

    def to_settings(self, run: str) -> list[Setting]:
        """The state as a row of the store."""
        value = self.to_json()
        return [Setting(STATE_KIND, run, value, time.time_ns() // 1000)] if value is not None else []

    def metrics(self) -> dict[str, Any]:
        """ρ, and per type its level, share and gap."""
        types = self.state.types if self.state is not None else {}
        return {
            "rho": self.state.rho if self.state is not None else 0.0,
            "levels": {name: window.level for name, window in types.items()},
            "shares": {name: window.share for name, window in types.items()},
            "gaps": {name: window.gap for name, window in types.items()},
        }


def _begin(settings: CurriculumSettings) -> gap.GapState:
    profile = profiles.load(settings.profile)
    if not profile.highest_level:
        raise ValueError(f"curriculum.profile: {settings.profile!r} has no levels; name one that has")
    operators = {rule.operator for rule in profile.rules}
    return gap.begin(settings.profile, operators, profile.highest_level, settings.gap)


def _observations(groups: Sequence[Group]) -> Iterator[gap.Observation]:
    for group in groups:
        for rollout in group.rollouts:
            noisy = rollout.arm is Arm.NOISY
            yield gap.Observation(group.id, noisy, rollout.reward, rollout.noise_type, rollout.level)
