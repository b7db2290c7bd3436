"""What a run tells of its curriculum after each step: gaps with their intervals, exposure and doses."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import orjson
import pytest

from crosswind.gateway.trajectory.record import Arm
from crosswind.injectors.engine.dose import CALM, OperatorDose, SessionDose
from crosswind.trainer.config.settings import CurriculumSettings, GapSettings
from crosswind.trainer.curriculum.driver import CurriculumDriver
from crosswind.trainer.rollouts.groups import Group
from crosswind.trainer.run.progress import Progress

SETTINGS = CurriculumSettings(gap=GapSettings(warmup_steps=0))


def rollout(reward: float, noise_type: str | None = None, *, exposed: bool = False) -> Any:
    if noise_type is None:
        return SimpleNamespace(
            arm=Arm.CLEAN, reward=reward, noise_type=None, level=None, exposed=False, dose=CALM
        )
    own = OperatorDose(1, 3, int(exposed), 1, int(exposed))
    dose = SessionDose("noisy", noise_type, 1, {noise_type: own})
    return SimpleNamespace(
        arm=Arm.NOISY, reward=reward, noise_type=noise_type, level=1, exposed=dose.exposed, dose=dose
    )


def observed() -> CurriculumDriver:
    """Eight clean rollouts that succeed; of four noisy ones three are exposed, and two of these fail."""
    noisy = [rollout(float(nth > 1), "user.typos", exposed=nth < 3) for nth in range(4)]
    driver = CurriculumDriver(SETTINGS, "per_arm")
    driver.observe([Group("g", (*[rollout(1.0) for _ in range(8)], *noisy))])
    return driver


def test_the_figures_of_a_step_have_gap_interval_exposure_and_dose() -> None:
    metrics = orjson.loads(orjson.dumps(observed().metrics()))
    assert metrics["counted_gaps"]["user.typos"] == 0.5
    assert metrics["exposure_rates"]["user.typos"] == 0.75
    assert metrics["gaps"]["user.typos"] == 0.5 / 0.75
    low, high = metrics["gap_intervals"]["user.typos"]
    assert low < 0.5 / 0.75 < high
    assert metrics["gaps"]["tool.timeout"] is metrics["gap_intervals"]["tool.timeout"] is None
    assert metrics["doses"] == {
        "user.typos": {
            **{"assigned": 4, "eligible": 12, "decided": 7, "injected": 3, "withheld": 4, "exposed": 3}
        }
    }


def test_people_read_the_gap_with_what_was_exposed() -> None:
    said = StringIO()
    figures = {
        **dict.fromkeys(("step", "version", "groups", "filtered_groups"), 1),
        **dict.fromkeys(("clean_success", "noisy_success", "clip_share"), 1.0),
        **dict.fromkeys(("loss", "kl", "entropy", "seconds"), 0.0),
    }
    Progress(as_json=False, stream=said).step(figures | observed().metrics())
    line, told = said.getvalue().splitlines()
    assert line.startswith("step   1")
    assert told.startswith("  user.typos") and "gap +0.667 [" in told
    assert told.endswith("], undivided +0.500, 75% exposed")


class Sink:
    """A control plane that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Any]] = []

    def put_profile(self, name: str, yaml: str) -> None:
        self.told.append((name, yaml))

    def put_curriculum(self, declared: dict[str, Any]) -> None:
        self.told.append(("curriculum", declared["profile"]))


def test_a_profile_in_a_file_is_given_to_the_gateway_before_it_is_named(tmp_path: Path) -> None:
    file, sink = tmp_path / "mine.yaml", Sink()
    file.write_text("name: own\ncompose: one_of\nlevels: [0.0, 0.5]\nrules: [{operator: tool.timeout}]\n")
    driver = CurriculumDriver(CurriculumSettings(profile=str(file)), "per_arm")
    assert driver.schedule is not None and driver.schedule.types.keys() == {"tool.timeout"}
    written = file.read_text()
    file.unlink()
    assert driver.declare(cast(Any, sink)) is None
    assert sink.told == [("own", written), ("curriculum", "own")]


def test_a_profile_file_that_is_not_there_is_named() -> None:
    with pytest.raises(ValueError, match=r"curriculum\.profile: nowhere\.yaml can't be read"):
        CurriculumDriver(CurriculumSettings(profile="nowhere.yaml"), "per_arm")
