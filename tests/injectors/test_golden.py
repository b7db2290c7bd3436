"""Determinism: over versions of the code, over processes, over hash seeds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from crosswind.injectors import registry
from tests import ROOT
from tests.injectors import golden

STORED = json.loads(Path(__file__).with_name("golden.json").read_text(encoding="utf-8"))


def test_every_operator_of_ours_has_its_draws_on_record() -> None:
    ours = {name for name, entry in registry.operators().items() if not entry.origin}
    assert set(STORED["operators"]) == ours, "python -m tests.injectors.golden"


def test_draws_are_what_they_were() -> None:
    for name, draws in STORED["operators"].items():
        assert json.loads(json.dumps(golden.operator_draws(registry.resolve(name)))) == draws, name
    for name, found in STORED["noisyagent"].items():
        assert golden.plan_texts(name) == found, name
    assert golden.assignments() == STORED["assignments"]


def test_another_process_with_another_hash_seed_draws_the_same() -> None:
    environment = {**os.environ, "PYTHONHASHSEED": "4711", "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", "tests.injectors.golden"]
    root = ROOT
    there = subprocess.run(command, cwd=root, env=environment, capture_output=True, check=True).stdout
    assert json.loads(there) == json.loads(json.dumps(golden.current()))
