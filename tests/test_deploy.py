"""The images' files, as far as they can be held against the repository without a container runtime."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from crosswind.gateway.cli import root
from tests import ROOT

DEPLOY = ROOT / "deploy"
DOCKERFILES = sorted(DEPLOY.glob("Dockerfile*"))


def _instructions(file: Path) -> list[tuple[str, str]]:
    text = "\n".join(line for line in file.read_text().splitlines() if not line.startswith("#"))
    return [
        (word, rest)
        for word, _, rest in (line.partition(" ") for line in text.replace("\\\n", "").splitlines())
    ]


def _parses(arguments: list[str]) -> None:
    """Whether `crosswind` takes this command line; nothing is carried out."""
    command: Any = root
    context = click.Context(root)
    while isinstance(command, click.Group):
        found = command.get_command(context, arguments[0])
        assert found is not None, arguments
        command, arguments = found, arguments[1:]
    command.make_context("crosswind", arguments)


@pytest.mark.parametrize("file", DOCKERFILES, ids=lambda file: file.name)
def test_an_image_copies_what_there_is_and_starts_what_is_known(file: Path) -> None:
    instructions = _instructions(file)
    for word, rest in instructions:
        if word == "COPY" and not rest.startswith("--from"):
            *sources, _ = rest.split()
            assert all((ROOT / source).exists() for source in sources), rest
    (said,) = [rest for word, rest in instructions if word == "CMD"]
    _parses(json.loads(said))


@pytest.mark.parametrize("name", ["compose.yaml", "compose.vllm.yaml"])
def test_compose_builds_files_that_there_are_and_starts_what_is_known(name: str) -> None:
    services = yaml.safe_load((DEPLOY / name).read_text())["services"]
    for service in services.values():
        assert (ROOT / service["build"]["dockerfile"]).is_file()
        if "command" in service:
            _parses(service["command"])


def test_vllms_environment_is_made_of_all_that_its_layer_copies() -> None:
    """It imports the standard library only, and reads nothing but the locks."""
    text = (ROOT / "policies/vllm/environment.py").read_text()
    assert not re.search(r"^\s*(?:from|import) crosswind\b", text, re.MULTILINE)


def test_a_copy_without_its_links_is_not_built(tmp_path: Path) -> None:
    (tmp_path / "crosswind").mkdir()
    (tmp_path / "crosswind" / "gateway").write_text("../gateway")
    shutil.copy(ROOT / "setup.py", tmp_path)
    command = [sys.executable, "setup.py", "--name"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "the links crosswind/gateway" in done.stderr
