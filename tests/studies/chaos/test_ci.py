"""The snippets for CI do what they say: their scripts are run as a runner runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from crosswind.testing import ScriptedProvider
from tests import ROOT
from tests.loop.children import ENVIRONMENT
from tests.studies.chaos.conftest import AGENT, TALKATIVE
from tests.studies.chaos.test_run import flights

CI = ROOT / "deploy" / "ci"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with tasks and a profile, and `crosswind` on its path."""
    (tmp_path / "talkative.yaml").write_text(TALKATIVE)
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in flights(3)))
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "crosswind"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m crosswind.gateway.cli "$@"\n')
    command.chmod(0o755)
    return tmp_path


def run_script(project: Path, script: str, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    path = f"{project / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        cwd=project,
        env={**ENVIRONMENT, "PATH": path, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_action_warns_where_few_tasks_cannot_tell(provider: ScriptedProvider, project: Path) -> None:
    action = yaml.safe_load((CI / "action.yml").read_text())
    step = next(step for step in action["runs"]["steps"] if step.get("id") == "chaos")
    inputs = {name: str(given.get("default", "")) for name, given in action["inputs"].items()}
    inputs |= {
        "upstream": provider.base_url,
        "command": " ".join(AGENT),
        "profile": "talkative.yaml",
        "max-drop": "0.1",
        "options": "--concurrency 2",
    }
    variables = {
        name: inputs[value.removeprefix("${{ inputs.").removesuffix(" }}")]
        for name, value in step["env"].items()
    }
    files = {"GITHUB_STEP_SUMMARY": str(project / "summary"), "GITHUB_OUTPUT": str(project / "output")}
    done = run_script(project, step["run"], variables | files)
    assert done.returncode == 0, done.stderr
    assert "::warning title=Crosswind::" in done.stdout
    assert (project / "output").read_text() == "status=3\n"
    assert "Inconclusive" in (project / "summary").read_text()
    assert (project / "crosswind-run" / "junit.xml").exists()


def test_the_gitlab_job_leaves_a_junit_report(provider: ScriptedProvider, project: Path) -> None:
    job = yaml.safe_load((CI / "gitlab.yml").read_text())["crosswind"]
    variables = job["variables"] | {
        "CHAOS_UPSTREAM": provider.base_url,
        "CHAOS_PROFILE": "talkative.yaml",
        "CHAOS_AGENT": " ".join(AGENT),
    }
    script = "\n".join(line for line in job["script"] if "pip install" not in line)
    done = run_script(project, script, variables)
    assert done.returncode in job["allow_failure"]["exit_codes"], done.stderr
    assert (project / job["artifacts"]["reports"]["junit"]).exists()
