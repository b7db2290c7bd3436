"""The pytest plugin in a project of its own, against a scripted model."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from crosswind.testing import ScriptedProvider
from tests import ROOT
from tests.loop.children import ENVIRONMENT
from tests.studies.chaos.conftest import read_gate

# An environment that was installed before the plugin was there doesn't name it.
_INSTALLED = {one.value for one in entry_points(group="pytest11")}
_MODULE = "crosswind.studies.pytest_plugin.plugin"
PLUGIN = () if _MODULE in _INSTALLED else ("-p", _MODULE)

PROFILES = """
name: cut
rules:
  - operator: tool.execution_failure
    severity: 1.0
    when: {probability: 1.0}
"""
PROJECT = '''
import json
import httpx
import pytest

MADE = []


def ask(crosswind, flight):
    """An agent that reads a status once."""
    parameters = {"type": "object", "properties": {"flight": {"type": "string"}}}
    function = {"name": "flight_status", "description": "Read a status.", "parameters": parameters}
    tools = [{"type": "function", "function": function}]
    messages = [{"role": "user", "content": f"Which gate does this flight leave from? {flight}"}]
    key = {"authorization": f"Bearer {crosswind.api_key}"}
    with httpx.Client(base_url=crosswind.base_url, headers=key, trust_env=False, timeout=60) as http:
        for _ in range(4):
            body = {"model": "m", "messages": messages, "tools": tools}
            answer = http.post("/chat/completions", json=body)
            message = answer.raise_for_status().json()["choices"][0]["message"]
            messages.append(message)
            if not message.get("tool_calls"):
                return message["content"]
            for call in message["tool_calls"]:
                status = {"status": "on time", "price": 214, "gate": "B1"}
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(status)})


@pytest.fixture
def fresh():
    MADE.append(1)
    return []


@pytest.mark.crosswind(profiles=["cut.yaml"], samples=3, min_success=0.9)
def test_is_fragile(crosswind, fresh):
    fresh.append(1)
    assert len(fresh) == 1
    assert "B1" in ask(crosswind, "HA-1")


@pytest.mark.crosswind(profiles=["cut.yaml"], samples=2, min_success=0.0)
def test_may_fail(crosswind):
    assert "B1" in ask(crosswind, "HA-1")


@pytest.mark.crosswind(profiles=["cut.yaml"])
def test_fails_anyway(crosswind):
    assert "B7" in ask(crosswind, "HA-1")


def test_fixtures_are_made_anew():
    assert len(MADE) == 6


def test_without_the_marker_a_session_is_clean(crosswind):
    assert ask(crosswind, "HA-1") == "Gate B1."
'''


@pytest.fixture(scope="module")
def provider() -> Iterator[ScriptedProvider]:
    with ScriptedProvider(read_gate, strict=False, keep=False) as served:
        yield served


def run_pytest(
    folder: Path,
    *options: str,
    upstream: str | None,
    variables: Mapping[str, str] | None = None,
    more: str = "",
) -> str:
    (folder / "cut.yaml").write_text(PROFILES)
    (folder / "test_agent.py").write_text(PROJECT + more)
    where = f"crosswind_upstream = {upstream}\n" if upstream else ""
    (folder / "pytest.ini").write_text(
        f"[pytest]\naddopts = --strict-markers -p no:asyncio\nfilterwarnings = error\n{where}"
    )
    command = [sys.executable, "-m", "pytest", *options]
    found = subprocess.run(
        command,
        cwd=folder,
        env={**ENVIRONMENT, **(variables or {}), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout + found.stderr


def check(said: str) -> None:
    assert "2 failed, 3 passed" in said, said
    assert "0 of 3 noisy attempts passed (0%), 90% are needed; 3 of 3 clean ones passed" in said, said
    assert "sample 0 under cut met tool.execution_failure:" in said
    assert re.search(r"without noise: crosswind sessions show p-\w+ --store \S+crosswind.db", said)
    assert "0 of 1 clean attempts passed, so it isn't the noise: 100% are needed" in said
    assert "crosswind: success under noise" in said
    assert re.search(r"tool.execution_failure\s+6/6", said), said


def test_a_project_with_marked_tests(provider: ScriptedProvider, tmp_path: Path) -> None:
    check(run_pytest(tmp_path, *PLUGIN, upstream=provider.base_url))
    left = subprocess.run(
        [sys.executable, "-m", "crosswind.gateway.cli", "sessions", "list", "--limit", "100", "--store"]
        + [str(one) for one in tmp_path.glob(".pytest_cache/**/crosswind.db")],
        capture_output=True,
        text=True,
        check=True,
        env=ENVIRONMENT,
    )
    assert len(left.stdout.splitlines()) == 13


def test_without_an_upstream_the_message_says_how_to_name_one(tmp_path: Path) -> None:
    said = run_pytest(tmp_path, *PLUGIN, upstream=None)
    assert "where is the model? Give --crosswind-upstream" in said


@pytest.mark.slow
def test_a_project_with_the_wheel_installed(provider: ScriptedProvider, tmp_path: Path) -> None:
    wheels, installed, project = tmp_path / "wheels", tmp_path / "installed", tmp_path / "project"
    project.mkdir()
    source = tmp_path / "source"
    ignored = shutil.ignore_patterns(
        ".*", "build", "dist", "runs", "*.egg-info", "__pycache__", "node_modules"
    )
    shutil.copytree(ROOT, source, symlinks=True, ignore=ignored)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(wheels), str(source)],
        check=True,
    )
    (wheel,) = wheels.iterdir()
    subprocess.run([*pip, "install", "--no-deps", "--target", str(installed), str(wheel)], check=True)
    said = run_pytest(project, upstream=provider.base_url, variables={"PYTHONPATH": str(installed)})
    check(said)
    assert (installed / "crosswind" / "studies" / "pytest_plugin" / "plugin.py").exists()


VAGUE = """
name: vague
rules:
  - operator: user.ambiguous
    severity: 1.0
    when: {probability: 1.0}
"""
ASKING = """

@pytest.mark.crosswind(profiles=["vague.yaml"], min_success=0.0)
def test_nobody_answers(crosswind):
    ask(crosswind, "HA-1 on 2026-12-01 to Lisbon")


@pytest.mark.crosswind(profiles=["vague.yaml"], min_success=0.0, user_answers=True)
def test_plays_a_user(crosswind):
    ask(crosswind, "HA-1 on 2026-12-01 to Lisbon")
"""


def test_users_leave_nothing_open_unless_the_test_plays_one(
    provider: ScriptedProvider, tmp_path: Path
) -> None:
    (tmp_path / "vague.yaml").write_text(VAGUE)
    said = run_pytest(
        tmp_path, *PLUGIN, "-k", "nobody_answers or plays_a", upstream=provider.base_url, more=ASKING
    )
    assert "1 failed, 1 passed" in said, said
    assert "under vague nothing could be injected, because nobody answers the agent" in said, said


IDLE = """

@pytest.mark.crosswind(profiles=["cut.yaml"])
def test_asks_no_model(crosswind):
    pass


@pytest.mark.crosswind(profiles=["nobodys/profile"])
def test_under_an_unknown_profile(crosswind):
    pass


def test_goes_on():
    pass
"""


def test_noise_that_could_not_act_passes_nothing_and_an_unknown_profile_fails_its_test_only(
    provider: ScriptedProvider, tmp_path: Path
) -> None:
    said = run_pytest(
        tmp_path, *PLUGIN, "-k", "asks_no or unknown or goes_on", upstream=provider.base_url, more=IDLE
    )
    assert "1 failed, 1 passed, 5 deselected, 1 error" in said, said
    assert "under cut nothing could be injected, because no request of these tasks came" in said
    assert "unknown profile 'nobodys/profile'" in said
