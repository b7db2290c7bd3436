"""docs/training.md, as it stands, leads from a model and an environment to a published version."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

from crosswind.policies.versions.version import read_version, verify
from tests import ROOT

PAGE = (ROOT / "docs" / "training.md").read_text()


def free_ports(count: int) -> list[int]:
    """Ports that were free a moment ago."""
    taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in taken]
    for each in taken:
        each.close()
    return ports


def find_commands() -> list[str]:
    """The page's commands: whole blocks, and the lines after `$` of those that show what is said."""
    blocks = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    return [
        "\n".join(re.findall(r"^\$ (.*)$", block, re.MULTILINE)) if block.startswith("$") else block
        for block in blocks
    ]


def test_the_pages_commands_publish_a_trained_version(tmp_path: Path) -> None:
    model, desk = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(model.splitlines()) <= 30 and len(desk.splitlines()) <= 60
    (tmp_path / "make_model.py").write_text(model)
    (tmp_path / "desk.py").write_text(desk)
    script = "\n".join(["set -e", "trap 'kill $(jobs -p)' EXIT", *find_commands()])
    for port, free in zip(("9200", "8000", "8080", "8081"), free_ports(4), strict=True):
        script = re.sub(rf"\b{port}\b", str(free), script)
    names = {"python": sys.executable, "crosswind": f"{sys.executable} -m crosswind.gateway.cli"}
    for name, command in names.items():
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        (tmp_path / "bin" / name).chmod(0o755)
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    given = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    given["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    with (tmp_path / "said").open("w") as said:
        done = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, env=given, stdout=said, stderr=said, check=False
        )
    text = (tmp_path / "said").read_text()
    assert done.returncode == 0, text
    assert "base: Qwen2ForCausalLM, 0.1075 M parameters, bfloat16, in versions/base" in text
    assert re.search(r"desk-00012 is what \S+ serves: log-probabilities agree within", text), text
    version = read_version(tmp_path / "runs/desk/versions/desk-00012")
    verify(version)
    assert version.run == "desk" and version.metrics["step"] == 12
