"""Several workers take the steps that one takes, whatever their number is, and go on from one another's
checkpoints.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
import torch
from safetensors.torch import load_file

from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.trainer.learning.worker_group import WorkerGroup
from crosswind.trainer.run import checkpoint
from tests import ROOT
from tests.trainer.workers.forked_runs import STEPS


@pytest.fixture(scope="module")
def runs(first_policy: Path, played: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of runs, by name."""
    root = tmp_path_factory.mktemp("runs")
    command = [sys.executable, "-m", "tests.trainer.workers.forked_runs", first_policy, played, root]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return root


def read_weights(runs: Path, name: str, step: int) -> Mapping[str, torch.Tensor]:
    (file,) = (runs / name / "out" / "versions" / f"run-{step:05d}").glob("*model.safetensors")
    tensors: Mapping[str, torch.Tensor] = load_file(str(file))
    return tensors


def read_steps(runs: Path, name: str) -> list[Any]:
    store = SqliteStore(runs / name / "store.db")
    rows = store.steps("run")
    store.close()
    return rows


@pytest.mark.parametrize(
    ("one", "several"),
    [
        ("full by one", "full by three, one and two"),
        ("lora by one", "lora by two and three"),
    ],
)
def test_weights_and_figures_are_those_of_one_process(one: str, several: str, runs: Path) -> None:
    for step in range(1, STEPS + 1):
        weights, others = read_weights(runs, one, step), read_weights(runs, several, step)
        assert weights.keys() == others.keys()
        for name, weight in weights.items():
            assert torch.allclose(weight, others[name], rtol=0.0, atol=1e-5), (step, name)
    first = read_weights(runs, one, 1)
    assert any(float((weights[name] - weight).abs().max()) > 1e-4 for name, weight in first.items())
    for row, other in zip(read_steps(runs, one), read_steps(runs, several), strict=True):
        assert (row.group_ids, row.seeds, row.rewards) == (other.group_ids, other.seeds, other.rewards)
        for name in ("loss", "gradient_norm", "entropy", "kl", "drift", "engine_gap_mean"):
            value = row.metrics[name]
            assert other.metrics[name] == (None if value is None else pytest.approx(value, abs=1e-5)), name
        for name in ("tokens", "trained_rollouts", "clip_share", "optimiser_steps"):
            assert row.metrics[name] == other.metrics[name], name


def test_a_checkpoint_has_one_form_whoever_wrote_it(runs: Path) -> None:
    """Files, names, shapes and kinds."""

    def form(name: str) -> Any:
        path = checkpoint.find_newest(runs / name / "out" / "checkpoints")
        assert path is not None
        stored = torch.load(path / "optimiser.pt", weights_only=True)
        moments = {
            index: {key: (type(one), one.shape, one.dtype) for key, one in state.items()}
            for index, state in stored["optimiser"]["state"].items()
        }
        state = orjson.loads((path / "state.json").read_bytes())
        return sorted(file.name for file in path.iterdir()), moments, state["cursor"], state["versions"]

    assert form("full by three, one and two") == form("full by one")
    assert form("lora by two and three") == form("lora by one")


def test_each_worker_has_its_part_and_all_have_as_many() -> None:
    batches = list("abcde")
    parts = [WorkerGroup(rank, 3).share(batches) for rank in range(3)]
    assert [[one for one, padding in part if not padding] for part in parts] == [
        ["a", "d"],
        ["b", "e"],
        ["c"],
    ]
    assert {len(part) for part in parts} == {2}
    assert WorkerGroup().share(batches) == [(one, False) for one in batches]
    assert WorkerGroup(1, 2).share([]) == []
