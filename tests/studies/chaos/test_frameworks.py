"""Real SDKs and frameworks, unmodified, find the gateway by their own variables, and meet faults."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from crosswind.figures.attempts import Arm
from crosswind.studies.chaos.gateways import guess_dialect
from crosswind.testing import ScriptedProvider
from tests.studies.chaos.conftest import Chaos, read_gate

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


def test_the_provider_gets_its_key_as_its_dialect_has_it_and_the_agent_never_does(
    play: Chaos, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "the-real-key")
    play.tasks = play.tasks[:1]
    agent = (sys.executable, "-W", "ignore", str(Path(__file__).with_name("frameworks.py")), "anthropic")
    with ScriptedProvider(read_gate, strict=False) as provider:
        done = play("--dialect", "anthropic", agent=agent, own=provider.base_url)
        assert done.exit_code == 0, done.output
        sent = {(one.headers.get("x-api-key"), one.headers.get("authorization")) for one in provider.requests}
    assert sent == {("the-real-key", None)}


def test_an_upstream_is_known_by_its_address() -> None:
    assert guess_dialect("https://api.anthropic.com/v1") == "anthropic"
    assert guess_dialect("https://anthropic.com.example/v1") is None
    assert guess_dialect("http://127.0.0.1:8000/v1") is None
