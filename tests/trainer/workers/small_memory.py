"""`crosswind train run` where the memory of one worker takes so many tokens of a micro-batch.

python -m tests.trainer.workers.small_memory RANK TOKENS ARGUMENTS...
"""

from __future__ import annotations

import os
import sys
from typing import Any

import torch

from crosswind.trainer.commands.train import train
from crosswind.trainer.learning.model import Policy
from crosswind.trainer.rollouts.batches import MicroBatch

score = Policy.score


def score_in_memory(self: Policy, batch: MicroBatch, temperature: float) -> tuple[Any, Any]:
    if torch.is_grad_enabled() and batch.input_ids.numel() > int(sys.argv[2]):
        raise torch.OutOfMemoryError("CUDA out of memory.")
    return score(self, batch, temperature)


if __name__ == "__main__":
    if os.environ["RANK"] == sys.argv[1]:
        Policy.score = score_in_memory
    train.main(["run", *sys.argv[3:]], prog_name="crosswind train")
