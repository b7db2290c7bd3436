"""A dose that never changes: every type at one level, in equal shares. Gaps are measured only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from crosswind.injectors.engine.curriculum import Curriculum
from crosswind.trainer.config.settings import AdvantageScope, CurriculumSettings
from crosswind.trainer.curriculum.gap import GapState, curriculum
from crosswind.trainer.curriculum.schedule import read_levels, schedule
from crosswind.trainer.curriculum.windows import TypeWindow, update_windows
from crosswind.trainer.rollouts.groups import Group


@schedule("fixed")
class FixedSchedule:
    """NoisyAgent without its scheduling (an ablation, §4.3): `fixed.rho` of the rollouts at `fixed.level`."""

    def __init__(self, settings: CurriculumSettings, stored: Mapping[str, Any] | None) -> None:
        self._settings = settings
        if stored:
            self._state = GapState.from_json(stored)
            return
        operators, highest = read_levels(settings)
        level, share = settings.fixed.level, settings.fixed.rho / len(operators)
        if level > highest:
            raise ValueError(
                f"curriculum.fixed.level: profile {settings.profile!r} has levels 1 to {highest}, "
                f"not {level}: use one of these"
            )
        types = {name: TypeWindow(level, share) for name in operators}
        self._state = GapState(settings.profile, highest, types)

    @property
    def version(self) -> int:
        return self._state.version

    @version.setter
    def version(self, version: int) -> None:
        self._state = replace(self._state, version=version)

    @property
    def rho(self) -> float:
        return self._state.rho

    @property
    def types(self) -> Mapping[str, TypeWindow]:
        return self._state.types

    def observe(self, groups: Sequence[Group]) -> list[str]:
        settings = self._settings
        types = {
            name: update_windows(name, window, groups, settings.gap, settings.count)
            for name, window in self._state.types.items()
        }
        self._state = replace(self._state, types=types, step=self._state.step + 1)
        return []

    def declare(self, advantages: AdvantageScope) -> Curriculum:
        return curriculum(self._state, self._settings, advantages)

    def to_json(self) -> dict[str, Any]:
        return self._state.to_json()
