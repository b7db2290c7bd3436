"""`crosswind train run --workers 2` as a person runs it: a worker that is lost, and one that hangs."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from safetensors.torch import load_file

from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.trainer.commands.train import train as train_command
from crosswind.trainer.learning import model
from crosswind.trainer.run.loop import train
from tests import ROOT
from tests.trainer.practice import make_run, play, settings
from tests.trainer.processes import start_trainer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds workers in /proc")


def wait_until(answers: Callable[[], object]) -> None:
    """Whoever hangs here is ended by CI."""
    while not answers():
        time.sleep(0.02)


def find_workers(launcher: int) -> dict[int, int]:
    """The processes of a launcher by rank."""
    found = {}
    for child in Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split():
        for variable in Path(f"/proc/{child}/environ").read_bytes().split(b"\0"):
            if variable.startswith(b"RANK="):
                found[int(variable.removeprefix(b"RANK="))] = int(child)
    return found


def is_running(process: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


class Place:
    """A run's folder, its store and its policy."""

    def __init__(self, folder: Path, policy: Path, played: Path) -> None:
        self.folder, self.policy = folder, policy
        self.store = SqliteStore(shutil.copy(played, folder / "store.db"))

    def copy(self, name: str) -> Place:
        """All of it as it stands."""
        folder = self.folder / name
        shutil.copytree(self.folder / "out", folder / "out")
        with sqlite3.connect(self.folder / "store.db") as one, sqlite3.connect(folder / "now.db") as other:
            one.backup(other)
        return Place(folder, self.policy, folder / "now.db")

    def play(self, number: int) -> None:
        """Two more groups: a step's."""
        for name in (f"more-{number}", f"more-{number}-too"):
            play(self.store, model.load(self.policy), name, 4, noisy=2)

    @contextmanager
    def start(self, steps: int, *more: str) -> Iterator[subprocess.Popen[str]]:
        """The command with two workers."""
        with start_trainer(*self.list_arguments(steps), "--workers", 2, *more) as process:
            try:
                yield process
            finally:
                process.terminate()  # and not its death alone: that is a test's business
                process.wait()

    def list_arguments(self, steps: int) -> list[str]:
        config = settings(steps=steps)
        changes = ("max_sequence", "poll_seconds", "staleness")
        given = ["--store", self.folder / "store.db", "--policy", self.policy, "--out", self.folder / "out"]
        given += ["--run", "run", "--steps", steps, "--groups-per-step", 2, "--group-size", 4]
        for name in changes:
            given += ["--set", f"{name}={getattr(config, name)}"]
        given += ["--set", "optimiser.warmup_steps=0", "--set", "optimiser.data_reuse=1"]
        return list(map(str, given))


def read_until(process: subprocess.Popen[str], text: str) -> None:
    assert process.stdout is not None
    assert any(text in line for line in process.stdout), process.stderr and process.stderr.read()


def test_a_lost_worker_is_named_and_the_step_is_taken_again(
    first_policy: Path, played: Path, tmp_path: Path
) -> None:
    place = Place(tmp_path, first_policy, played)
    with place.start(6) as process:
        read_until(process, "step   5")
        rank_0, rank_1 = find_workers(process.pid)[0], find_workers(process.pid)[1]
        # Stopped, so that the next step comes as far as the exchange and no further.
        os.kill(rank_1, signal.SIGSTOP)
        place.play(1)
        wait_until(lambda: len(place.store.steps("run")) == 6)
        os.kill(rank_1, signal.SIGKILL)
        out, said = process.communicate()
        assert (process.returncode, out) == (1, "")
        assert said == (
            f"crosswind: worker 1 of 2 (rank 1, process {rank_1}) was ended by SIGKILL, as the system does "
            "where memory ends; the others have ended, and no step is lost: start the same command again, "
            "which takes the same step\n"
        )
        assert not is_running(rank_0) and not is_running(rank_1)

    planned = place.store.steps("run")[5]
    assert planned.completed_us is None
    alone = place.copy("alone")
    # Long enough for one worker to start later than the other on a busy machine.
    with place.start(7, "--set", "worker_deadline=20") as process:
        read_until(process, "step   6")
        (taken,) = (row for row in place.store.steps("run") if row.step == 6)
        assert (taken.group_ids, taken.seeds, taken.rewards, taken.created_us) == (
            planned.group_ids,
            planned.seeds,
            planned.rewards,
            planned.created_us,
        )
        # The next one hangs.
        workers = find_workers(process.pid)
        os.kill(workers[1], signal.SIGSTOP)
        place.play(2)
        out, said = process.communicate()
        assert (process.returncode, out) == (1, "")
        hung = f"worker 1 of 2 (rank 1, process {workers[1]})"
        assert said.startswith(f"crosswind: {hung} didn't answer within 20 s (worker_deadline); ")
        assert len(said.splitlines()) == 1
        assert not any(map(is_running, workers.values()))

    # One process takes the same step from the same checkpoint.
    config = settings(steps=6)
    train(make_run(alone.folder / "out", first_policy, alone.store, config))
    weights, others = (
        load_file(str(each.folder / "out" / "versions" / "run-00006" / "model.safetensors"))
        for each in (alone, place)
    )
    for name, weight in weights.items():
        assert torch.allclose(weight, others[name], rtol=0.0, atol=1e-5), name
    place.store.close()


def test_a_lost_worker_is_told_from_a_failure_of_its_own(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.trainer.workers.left_alone", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        *(f"{name}: WorkerLost" for name in ("values", "forward", "backward", "whole tensors")),
        "its own failure: RuntimeError",
    ], done.stderr


@pytest.mark.parametrize(("tokens", "code"), [(16, 0), (2, 1)])
def test_where_one_workers_memory_is_too_small_all_start_again_with_halves(
    tokens: int, code: int, first_policy: Path, played: Path, tmp_path: Path
) -> None:
    place = Place(tmp_path, first_policy, played)
    launch = (
        "import sys; from crosswind.trainer.commands.launcher import launch_within_memory as launch; "
        "sys.exit(launch(sys.argv[1:], 2, 60.0))"
    )
    worker = [sys.executable, "-m", "tests.trainer.workers.small_memory", "1", str(tokens)]
    command = [sys.executable, "-c", launch, *worker, *place.list_arguments(2)]
    command += ["--set", "optimiser.mini_batches=1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    first, *rest = done.stderr.splitlines()
    assert done.returncode == code, done.stderr
    assert first.startswith("crosswind: worker 1: a micro-batch of ") and "doesn't fit into memory" in first
    assert "all 2 workers start again after the last step, with --set optimiser.token_budget=" in first
    if code:
        assert [line.endswith("it was halved once already") for line in rest] == [True], rest
    else:
        assert not rest and [step.step for step in place.store.steps("run") if step.completed_us] == [1, 2]
    place.store.close()


def test_a_worker_ends_with_its_launcher() -> None:
    """However that ends, and whatever the worker is doing."""
    worker = "import time; from crosswind.trainer.commands.workers import watch_launcher as watch; "
    worker += "watch(); time.sleep(600)"
    launcher = (
        "import os, subprocess, sys; os.environ['CROSSWIND_LAUNCHER'] = str(os.getpid()); "
        "child = subprocess.Popen([sys.executable, '-c', sys.argv[1]]); "
        "print(child.pid, flush=True); child.wait()"
    )
    command = [sys.executable, "-c", launcher, worker]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        process.kill()
    wait_until(lambda: not is_running(child))


def test_wrong_numbers_of_workers_are_one_line(first_policy: Path, tmp_path: Path) -> None:
    given = ["--store", tmp_path / "store.db", "--policy", first_policy, "--out", tmp_path / "out"]
    environment = {"RANK": "0", "WORLD_SIZE": "3"}
    for arguments, message in (
        (["--workers", "0"], "'--workers'"),
        (["--workers", "2"], "--workers: 2, but WORLD_SIZE is 3, as torchrun sets it; leave --workers out"),
    ):
        done = CliRunner(env=environment).invoke(train_command, ["run", *map(str, given), *arguments])
        assert done.exit_code == 2
        assert message in done.output
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is installed")
def test_ray_is_an_extra(first_policy: Path, tmp_path: Path) -> None:
    given = ["--store", tmp_path / "store.db", "--policy", first_policy, "--out", tmp_path / "out"]
    arguments = ["run", *map(str, given), "--workers", "2", "--launcher", "ray"]
    done = CliRunner().invoke(train_command, arguments)
    assert (done.exit_code, done.output) == (
        2,
        "crosswind: --launcher: ray isn't installed: install crosswind[ray]\n",
    )
