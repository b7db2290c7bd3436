"""Noise that the profile draws at random, and that no measurement steers: by group, or by rollout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from crosswind.injectors.engine.curriculum import Curriculum
from crosswind.trainer.config.settings import AdvantageScope, CurriculumSettings, SeedScope
from crosswind.trainer.curriculum.schedule import schedule
from crosswind.trainer.curriculum.windows import TypeWindow
from crosswind.trainer.rollouts.groups import Group


class _ProfileSchedule:
    """A curriculum whose only memory is the version of what it declares."""

    rho: float
    types: Mapping[str, TypeWindow] = {}

    def __init__(self, settings: CurriculumSettings, stored: Mapping[str, Any] | None) -> None:
        self._settings = settings
        self.version = int(stored["version"]) if stored else 1

    def observe(self, groups: Sequence[Group]) -> list[str]:
        return []

    def to_json(self) -> dict[str, Any]:
        return {"version": self.version}

    def _declare(
        self, advantages: AdvantageScope, seed_scope: SeedScope, by: Literal["count", "coin"]
    ) -> Curriculum:
        return Curriculum(
            version=self.version,
            profile=self._settings.profile,
            rho=self.rho,
            group_share=self._settings.group_share,
            advantages=advantages,
            seed_scope=seed_scope,
            at_least_one=self._settings.at_least_one,
            assignment=by,
        )


@schedule("randomised")
class RandomisedSchedule(_ProfileSchedule):
    """ToolRL-DR (RobustBench-TC, §5): `group_share` of the tasks are perturbed, by one of the profile's types
    each, and all rollouts of such a task see the same (seed scope `group`). DR-Full: 1; DR-Mixed: 0.5.
    """

    rho = 1.0

    def declare(self, advantages: AdvantageScope) -> Curriculum:
        return self._declare(advantages, "group", "count")


@schedule("coin")
class CoinSchedule(_ProfileSchedule):
    """State augmentation ("Generalization Tax", §6): each trajectory is augmented with probability
    `coin.coverage`, for itself. ε, in characters, is the profile's.
    """

    def __init__(self, settings: CurriculumSettings, stored: Mapping[str, Any] | None) -> None:
        super().__init__(settings, stored)
        self.rho = settings.coin.coverage

    def declare(self, advantages: AdvantageScope) -> Curriculum:
        return self._declare(advantages, self._settings.seed_scope, "coin")
