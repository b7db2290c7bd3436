"""Real SDKs and frameworks, unmodified, find the gateway by their own variables, and meet faults."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from crosswind.figures.attempts import Arm
from tests.studies.chaos.conftest import Chaos

PROFILE = """
name: always-cut
rules:
  - operator: tool.incomplete
    severity: 0.9
    when: {probability: 1.0}
"""


@pytest.mark.parametrize("name", ["openai", "anthropic", "agents", "langgraph"])
def test_an_agent_in_its_users_own_words(play: Chaos, tmp_path: Path, name: str) -> None:
    profile = tmp_path / "always-cut.yaml"
    profile.write_text(PROFILE)
    play.profile = str(profile)
    play.tasks = play.tasks[:1]
    done = play(agent=(sys.executable, "-W", "ignore", str(Path(__file__).with_name("frameworks.py")), name))
    assert done.exit_code == 0, done.output
    clean, noisy = (next(one for one in play.attempts() if one.arm is arm) for arm in (Arm.CLEAN, Arm.NOISY))
    assert (clean.success, clean.note, clean.faults) == (1.0, "", ())
    assert [one.operator for one in noisy.faults] == ["tool.incomplete"]
    assert [one.tool for one in noisy.faults] == ["flight_status"]
