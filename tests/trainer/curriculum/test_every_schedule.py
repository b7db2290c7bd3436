"""The contract of a curriculum, run over every registered one, and what each declares."""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from crosswind.injectors.engine.curriculum import Curriculum, assign
from crosswind.trainer import registry
from crosswind.trainer.config.settings import CurriculumSettings, FixedSettings, configure
from crosswind.trainer.curriculum.schedule import UnknownCurriculum, begin_schedule, schedules
from crosswind.trainer.rollouts.groups import Group

PROFILES = {"randomised": "toolrl-dr/full", "coin": "state-augmentation/v1"}


def settings(kind: str, **fields: Any) -> CurriculumSettings:
    return CurriculumSettings(kind=kind, profile=PROFILES.get(kind, "noisyagent"), **fields)


def declare(kind: str, **fields: Any) -> Curriculum:
    begun = begin_schedule(settings(kind, **fields), None)
    assert begun is not None
    return begun.declare("per_arm")


def arms(curriculum: Curriculum, groups: int = 400, size: int = 8) -> list[list[str]]:
    return [
        [
            assign(curriculum, seed=0, group_id=f"g{each}", rollout_index=index, group_size=size).arm
            for index in range(size)
        ]
        for each in range(groups)
    ]


@pytest.mark.parametrize("kind", sorted(schedules()))
def test_it_goes_on_from_its_memory_and_declares_the_same(kind: str) -> None:
    begun = begin_schedule(settings(kind), None)
    assert begun is not None
    begun.version = 7
    begun.observe([Group("g", ())])
    again = begin_schedule(settings(kind), json.loads(json.dumps(begun.to_json())))
    assert again is not None and again.version == 7
    assert again.declare("group") == begun.declare("group")
    assert Curriculum.from_json(json.loads(json.dumps(again.declare("group").to_json()))) == again.declare(
        "group"
    )
    assert again.rho == again.declare("group").rho


def test_a_fixed_dose_is_every_type_at_its_level_in_equal_shares() -> None:
    found = declare("fixed", fixed=FixedSettings(level=2, rho=0.25))
    assert found.rho == pytest.approx(0.25)
    assert {state.level for state in found.types.values()} == {2}
    shares = [state.share for state in found.types.values()]
    assert max(shares) == min(shares) and len(shares) > 4
    noisy = sum(row.count("noisy") for row in arms(found)) / (400 * 8)
    assert noisy == pytest.approx(0.25, abs=0.03)


def test_without_controlled_injection_all_rollouts_are_noisy() -> None:
    found = declare("fixed", fixed=FixedSettings(rho=1.0))
    assert {arm for row in arms(found) for arm in row} == {"noisy"}


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_a_randomised_dose_is_whole_groups_that_all_see_the_same(share: float) -> None:
    found = declare("randomised", group_share=share)
    assert (found.seed_scope, found.types) == ("group", {})
    rows = arms(found)
    assert all(len(set(row)) == 1 for row in rows)
    assert sum(row[0] == "noisy" for row in rows) / len(rows) == pytest.approx(share, abs=0.08)


def test_a_coin_is_thrown_for_each_trajectory() -> None:
    found = declare("coin", coin={"coverage": 0.5})
    rows = arms(found)
    assert sum(row.count("noisy") for row in rows) / (400 * 8) == pytest.approx(0.5, abs=0.03)
    assert {row.count("noisy") for row in rows} >= {1, 2, 3, 4, 5, 6, 7}, "an arm of one is no exception"


def test_an_unknown_curriculum_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownCurriculum, match="no 'fixd'; the nearest is 'fixed' of off, coin, fixed, gap"):
        begin_schedule(settings("fixd"), None)


def test_a_level_that_the_profile_has_not_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"curriculum\.fixed.level: profile 'noisyagent' has levels 1 to 5, not 9"
    ):
        declare("fixed", fixed=FixedSettings(level=9))


def test_another_package_adds_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "their_curriculum.py").write_text(THEIRS)
    monkeypatch.syspath_prepend(tmp_path)
    entry = EntryPoint("evenings", "their_curriculum", "crosswind.curricula")
    monkeypatch.setattr(registry, "entry_points", lambda group: [entry])
    config = configure("demo", {"curriculum.kind": "evenings", "curriculum.options": {"share": 0.125}})
    begun = begin_schedule(config.curriculum, None)
    assert begun is not None and begun.declare("per_arm").rho == 0.125


THEIRS = """
from crosswind import Curriculum, schedule


@schedule("evenings")
class Evenings:
    types = {}

    def __init__(self, settings, stored):
        self.profile, self.rho = settings.profile, settings.options["share"]
        self.version = stored["version"] if stored else 1

    def observe(self, groups):
        return []

    def declare(self, advantages):
        return Curriculum(self.version, self.profile, rho=self.rho, advantages=advantages)

    def to_json(self):
        return {"version": self.version}
"""
