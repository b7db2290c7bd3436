"""Drive the curriculum: feed it each step's rollouts, keep its state, declare it to the gateway."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from crosswind.gateway.client import Client, GatewayError
from crosswind.gateway.trajectory.record import Setting
from crosswind.injectors.engine.dose import Doses, add_doses
from crosswind.trainer.config.settings import AdvantageScope, CurriculumSettings
from crosswind.trainer.curriculum.schedule import begin_schedule, read_profile
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
        """Go on from a stored state, or begin. Raises UnknownCurriculum, or ValueError where the profile or
        a level isn't there.
        """
        self.advantages = advantages
        settings = read_profile(settings)
        self._own_profile = settings.profile, settings.profile_text
        self.schedule = begin_schedule(settings, stored)
        self.doses: Doses = {}
        """Of the last step's rollouts."""

    def observe(self, groups: Sequence[Group]) -> list[str]:
        """Feed in a step's groups. Returns what changed, in words."""
        self.doses = add_doses(one.dose.operators for group in groups for one in group.rollouts)
        return self.schedule.observe(groups) if self.schedule is not None else []

    def continue_numbering(self, sink: Client | None) -> None:
        """Number this run's curricula on from the one in force, so that no version means two things."""
        current = sink.get_curriculum() if sink is not None else None
        if self.schedule is not None and current is not None:
            self.schedule.version = int(current["version"]) + 1

    def declare(self, sink: Client | None) -> str | None:
        """Declare the curriculum to the control plane (idempotent), with the profile where that is no
        built-in one. Returns the reason if that fails.
        """
        if sink is None or self.schedule is None:
            return None
        name, text = self._own_profile
        try:
            if text is not None:
                sink.put_profile(name, text)
            sink.put_curriculum(self.schedule.declare(self.advantages).to_json())
        except GatewayError as error:
            return str(error)
        return None

    def to_json(self) -> dict[str, Any] | None:
        return self.schedule.to_json() if self.schedule is not None else None

    def to_settings(self, run: str) -> list[Setting]:
        """The state as a row of the store."""
        value = self.to_json()
        return [Setting(STATE_KIND, run, value, time.time_ns() // 1000)] if value is not None else []

    def metrics(self) -> dict[str, Any]:
        """ρ, and per type its level, share, gap and exposure; per operator the last step's dose."""
        types = self.schedule.types if self.schedule is not None else {}
        gaps = {name: (window.gap, window.counted_gap, window.exposure) for name, window in types.items()}
        return {
            "rho": self.schedule.rho if self.schedule is not None else 0.0,
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
