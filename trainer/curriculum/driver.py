"""Drive the curriculum: feed it each step's rollouts, keep its state, declare it to the gateway."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from crosswind.gateway.client import Client, GatewayError
from crosswind.gateway.trajectory.record import Setting
from crosswind.injectors.engine.dose import Doses, add_doses
from crosswind.injectors.profiles import load as profiles
from crosswind.trainer.config.settings import AdvantageScope, CurriculumSettings
from crosswind.trainer.curriculum import gap
from crosswind.trainer.rollouts.groups import Group

STATE_KIND = "curriculum_state"
"""The kind of the store's setting that holds the scheduler's memory; its name is the run's."""


class CurriculumDriver:
    """A curriculum with its settings. Without one (`kind: off`) nothing is ever declared, and noise stays as
    it is.
    """

    def __init__(
        self,
        settings: CurriculumSettings,
        advantages: AdvantageScope,
        stored: Mapping[str, Any] | None = None,
    ) -> None:
        """Go on from a stored state, or begin. Raises ValueError where the profile or a level isn't there."""
        self.settings = settings
        self.advantages = advantages
        self.state: gap.GapState | None = None
        self.doses: Doses = {}
        """Of the last step's rollouts."""
        if settings.kind == "gap":
            self.state = gap.GapState.from_json(stored) if stored else _begin(settings)

    def observe(self, groups: Sequence[Group]) -> list[str]:
        """Feed in a step's groups. Returns what changed, in words."""
        self.doses = add_doses(one.dose.operators for group in groups for one in group.rollouts)
        if self.state is None:
            return []
        self.state, changes = gap.advance(self.state, groups, self.settings.gap, self.settings.count)
        return changes

    def continue_numbering(self, sink: Client | None) -> None:
        """Number this run's curricula on from the one in force, so that no version means two things."""
        current = sink.get_curriculum() if sink is not None else None
        if self.state is not None and current is not None:
            self.state = replace(self.state, version=int(current["version"]) + 1)

    def declare(self, sink: Client | None) -> str | None:
        """Declare the curriculum to the control plane (idempotent). Returns the reason if that fails."""
        if sink is None or self.state is None:
            return None
        try:
            sink.put_curriculum(gap.curriculum(self.state, self.settings, self.advantages).to_json())
        except GatewayError as error:
            return str(error)
        return None

    def to_json(self) -> dict[str, Any] | None:
        return self.state.to_json() if self.state is not None else None

    def to_settings(self, run: str) -> list[Setting]:
        """The state as a row of the store."""
        value = self.to_json()
        return [Setting(STATE_KIND, run, value, time.time_ns() // 1000)] if value is not None else []

    def metrics(self) -> dict[str, Any]:
        """ρ, and per type its level, share, gap and exposure; per operator the last step's dose."""
        types = self.state.types if self.state is not None else {}
        gaps = {name: (window.gap, window.counted_gap, window.exposure) for name, window in types.items()}
        return {
            "rho": self.state.rho if self.state is not None else 0.0,
            "levels": {name: window.level for name, window in types.items()},
            "shares": {name: window.share for name, window in types.items()},
            "gaps": {name: found and found.value for name, (found, _, _) in gaps.items()},
            "gap_intervals": {name: found and list(found.interval) for name, (found, _, _) in gaps.items()},
            "counted_gaps": {name: found and found.value for name, (_, found, _) in gaps.items()},
            "exposure_rates": {
                name: seen.rate if seen.rollouts else None for name, (_, _, seen) in gaps.items()
            },
            "doses": {name: dose.to_json() for name, dose in self.doses.items()},
        }


def _begin(settings: CurriculumSettings) -> gap.GapState:
    profile = profiles.load(settings.profile)
    if not profile.highest_level:
        raise ValueError(f"curriculum.profile: {settings.profile!r} has no levels; name one that has")
    operators = {rule.operator for rule in profile.rules}
    return gap.begin(settings.profile, operators, profile.highest_level, settings.gap)
