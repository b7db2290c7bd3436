"""Runs of several workers, each a process that is forked, so that torch is imported once for all: run as a
program by the tests.

    python -m tests.trainer.workers.forked_runs POLICY PLAYED ROOT
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.trainer.config.settings import TrainConfig
from crosswind.trainer.learning import model
from crosswind.trainer.learning.worker_group import join_group
from crosswind.trainer.run.loop import train
from crosswind.trainer.run.start import follow
from tests.trainer.practice import make_run, settings

STEPS = 5


@dataclass(frozen=True)
class Stretch:
    """So many workers, up to a step."""

    workers: int
    until: int = STEPS


FULL = {"loss__kl": 0.05, "optimiser__data_reuse": 2}
LORA = {**FULL, "lora__rank": 3, "lora__alpha": 6.0, "checkpointing": True}
RUNS: dict[str, tuple[dict[str, Any], list[Stretch]]] = {
    "full by one": (FULL, [Stretch(1)]),
    "full by three, one and two": (FULL, [Stretch(3, 2), Stretch(1, 3), Stretch(2)]),
    "lora by one": (LORA, [Stretch(1)]),
    "lora by two and three": (LORA, [Stretch(2, 4), Stretch(3)]),
}


def work(policy: Path, folder: Path, config: TrainConfig, rank: int) -> None:
    """Be one worker of a stretch."""
    rendezvous = str(folder / f"rendezvous-{config.steps}")
    with join_group("cpu", deadline=60.0, rendezvous=rendezvous) as group:
        if rank:
            follow(group)
            return
        store = SqliteStore(folder / "store.db")
        train(make_run(folder / "out", policy, store, config, workers=group))
        store.close()


def fork_worker(policy: Path, folder: Path, config: TrainConfig, rank: int, size: int) -> int:
    """The process of a worker."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            place = {"RANK": str(rank), "WORLD_SIZE": str(size)}
            os.environ.update({**place, "GLOO_SOCKET_IFNAME": "lo"})
            work(policy, folder, config, rank)
            code = 0
        finally:
            sys.stdout.flush()
            os._exit(code)
    return child


def run_stretch(policy: Path, folder: Path, config: TrainConfig, size: int) -> None:
    children = [fork_worker(policy, folder, config, rank, size) for rank in range(size)]
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    if any(codes):
        sys.exit(f"{folder.name}: exit codes {codes}")


if __name__ == "__main__":
    policy, played, root = map(Path, sys.argv[1:])
    torch.set_num_threads(1)
    model.load(policy)  # transformers imports a model's code then
    for name, (changes, stretches) in RUNS.items():
        folder = root / name
        folder.mkdir()
        shutil.copy(played, folder / "store.db")
        for stretch in stretches:
            config = settings(**(changes | {"steps": stretch.until, "keep_versions": 9}))
            run_stretch(policy, folder, config, stretch.workers)
