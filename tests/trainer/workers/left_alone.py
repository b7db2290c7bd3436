"""A worker whose partner leaves, and one that fails by itself: a program that prints which errors come of it.

python -m tests.trainer.workers.left_alone FOLDER
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from crosswind.trainer.errors import WorkerLost
from crosswind.trainer.learning.sharding import make_whole, shard
from crosswind.trainer.learning.worker_group import Call, WorkerGroup, join_group


def fail_alone(_: Tensor) -> None:
    raise RuntimeError("the weights of a gloomy model don't fit")


def try_alone(name: str, folder: Path) -> str:
    """Which error rank 0 ends with, where rank 1 leaves once it was called."""
    with join_group("cpu", 60.0, str(folder / name)) as group:
        model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 1))
        shard(model, group)
        loss = model(torch.ones(2, 8)).sum()
        if group.rank:
            group.receive()
            os._exit(0)
        try:
            with group.together(Call.UPDATE):
                exchanges(group, model)[name](loss)
        except (RuntimeError, WorkerLost) as error:
            return type(error).__name__
    return "none"


def exchanges(group: WorkerGroup, model: nn.Module) -> Mapping[str, Callable[[Tensor], object]]:
    return {
        "values": lambda loss: group.add_up([1.0]),
        "forward": lambda loss: model(torch.ones(2, 8)),
        "backward": lambda loss: loss.backward(),
        "whole tensors": lambda loss: make_whole(next(model.parameters()).detach(), group),
        "its own failure": fail_alone,
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    for name in exchanges(WorkerGroup(), nn.Linear(1, 1)):
        children = []
        for rank in range(2):
            child = os.fork()
            if child == 0:
                os.environ.update(RANK=str(rank), WORLD_SIZE="2", GLOO_SOCKET_IFNAME="lo")
                print(f"{name}: {try_alone(name, Path(sys.argv[1]))}", flush=True)
                os._exit(0)
            children.append(child)
        for child in children:
            os.waitpid(child, 0)
