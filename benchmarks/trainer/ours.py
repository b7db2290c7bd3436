"""Our trainer's step on given rollouts, one for each line that comes in."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import orjson

from benchmarks.trainer.contestant import answer


def main(policy: str, material: str, passes: str) -> None:
    """Take steps on the material, of so many passes."""
    import torch

    from crosswind.trainer.config.settings import configure
    from crosswind.trainer.learning import model
    from crosswind.trainer.learning.learner import Learner
    from crosswind.trainer.objectives.objective import LossScale
    from crosswind.trainer.rollouts.assembly import MiniBatch, TrainingBatch
    from crosswind.trainer.rollouts.batches import Sample
    from crosswind.trainer.rollouts.sequences import RolloutSequences, TokenSequence

    torch.set_num_threads(1)
    rows = orjson.loads(Path(material).read_bytes())
    samples = []
    for row in rows:
        known = [True] * len(row["sampled"])
        one = TokenSequence(row["token_ids"], row["sampled"], row["logprobs"], known)
        samples.append(Sample(RolloutSequences((one,), 0), row["advantage"]))
    tokens = sum(len(row["sampled"]) for row in rows)
    batch = TrainingBatch([MiniBatch(tuple(samples), LossScale(len(rows), tokens))])
    changes: dict[str, Any] = {"optimiser.mini_batches": 1, "optimiser.data_reuse": int(passes)}
    changes |= {"loss.importance_cap": None}  # TRL, without an engine of its own, has no such weight
    learner = Learner(model.load(Path(policy)), configure("demo", changes))

    def step() -> dict[str, float]:
        before = learner.measure(batch)
        learned = learner.update(before, 1)
        learner.divergence(before)
        return {"loss": learned.losses[0], "gradient": learned.gradient_norm}

    answer(step)


if __name__ == "__main__":
    main(*sys.argv[1:])
