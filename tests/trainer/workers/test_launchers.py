"""Runs under the launchers of others, torchrun and Ray Train: the weights of one process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from safetensors.torch import load_file

from crosswind.trainer.commands.train import train
from tests import ROOT
from tests.trainer.practice import settings

STEPS = 2


def find_ray() -> Path:
    """An interpreter that has Ray; skips where there is none. CROSSWIND_RAY_ENV names another place."""
    if find_spec("ray") is not None:
        return Path(sys.executable)
    own = Path(sys.prefix)
    root = Path(os.environ.get("CROSSWIND_RAY_ENV") or own.with_name(f"{own.name}-ray"))
    if not (root / "bin" / "python").exists():
        pytest.skip(f"no Ray in {root}: run `make ray`, or name its environment in CROSSWIND_RAY_ENV")
    return root / "bin" / "python"


def read_arguments(folder: Path, policy: Path, played: Path) -> list[str]:
    """The command's arguments, on a store of its own."""
    folder.mkdir()
    shutil.copy(played, folder / "store.db")
    config = settings()
    given = ["train", "run", "--run", "run", "--store", folder / "store.db", "--policy", policy]
    given += ["--out", folder / "out", "--steps", STEPS, "--groups-per-step", 2, "--group-size", 4]
    for name in ("max_sequence", "poll_seconds", "staleness"):
        given += ["--set", f"{name}={getattr(config, name)}"]
    given += ["--set", "optimiser.warmup_steps=0"]
    return list(map(str, given))


def read_weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(str(folder / "out" / "versions" / f"run-{STEPS:05d}" / "model.safetensors"))


@pytest.fixture(scope="module")
def alone(first_policy: Path, played: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run by one process."""
    folder = tmp_path_factory.mktemp("alone") / "run"
    _, *arguments = read_arguments(folder, first_policy, played)
    done = CliRunner().invoke(train, arguments)
    assert done.exit_code == 0, done.output
    return folder


@pytest.mark.parametrize("launcher", ["torchrun", pytest.param("ray", marks=pytest.mark.slow)])
def test_a_run_under_a_launcher_gives_the_weights_of_one_process(
    launcher: str, alone: Path, first_policy: Path, played: Path, tmp_path: Path
) -> None:
    arguments = read_arguments(tmp_path / "run", first_policy, played)
    python = Path(sys.executable) if launcher == "torchrun" else find_ray()
    command = [str(python), "-m", "crosswind.gateway.cli", *arguments]
    if launcher == "ray":
        command += ["--workers", "2", "--launcher", "ray"]
    else:
        torchrun = [str(python.with_name("torchrun")), "--standalone", "--nproc-per-node", "2", "--no-python"]
        command = [*torchrun, "--", *command]
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    weights, others = read_weights(tmp_path / "run"), read_weights(alone)
    assert weights.keys() == others.keys()
    for name, weight in weights.items():
        assert torch.allclose(weight, others[name], rtol=0.0, atol=1e-5), name
