"""A reload that breaks off half-way leaves what served before, and not half of each."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from crosswind.policies import vllm_inside as inside
from crosswind.policies.vllm.environment import find
from tests.vllm_server import VllmServed

SCRIPT = Path(__file__).with_name("half_a_reload.py")


@pytest.mark.vllm
def test_the_version_before_serves_on(vllm: VllmServed) -> None:
    moved = vllm.registry.get("moved-1")
    done = subprocess.run(
        [str(find().python), str(SCRIPT), str(vllm.first.path), str(moved.path)],
        env=os.environ | {"PYTHONPATH": str(Path(inside.__file__).parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
