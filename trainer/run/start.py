"""How a worker of a run comes to its learner, and what the workers do that don't lead."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from crosswind.policies.versions.version import PolicyVersion
from crosswind.trainer.config.settings import TrainConfig
from crosswind.trainer.learning import model
from crosswind.trainer.learning.learner import Learner, Measurement, Score
from crosswind.trainer.learning.lora import AdapterPolicy
from crosswind.trainer.learning.sharding import gather_state
from crosswind.trainer.learning.worker_group import Call, WorkerGroup
from crosswind.trainer.run import checkpoint


@dataclass(frozen=True, slots=True)
class Start:
    """What a learner is made of. All workers read the same files."""

    config: TrainConfig
    policy: Path
    first: PolicyVersion
    checkpoint: Path | None


def make_learner(start: Start, group: WorkerGroup) -> Learner:
    """The policy, its weights divided over the workers, with its optimiser, as the checkpoint has them."""
    config = start.config
    torch.set_num_threads(config.threads)
    with group.together(Call.START, start):
        policy = model.load(start.policy, device=config.device, dtype=config.dtype)
        reference: Score | None = None
        if config.lora.rank:
            adapted = policy = AdapterPolicy(policy, start.first, config.lora, config.seed)
            reference = adapted.score_base if config.loss.kl > 0 else None
        elif config.loss.kl > 0:
            base = model.load(start.policy, device=config.device, dtype=config.dtype)
            base.divide(group)
            reference = base.score
        if config.checkpointing:
            policy.checkpoint_activations()
        # Asked now: it takes forward passes, and each worker's would need the others.
        _ = policy.sharing
        policy.divide(group)
        learner = Learner(policy, config, reference)
        if start.checkpoint is not None:
            checkpoint.restore(start.checkpoint, policy, learner.optimiser)
    return learner


def follow(group: WorkerGroup) -> None:
    """Take part in what rank 0 announces, until it ends the run. Raises WorkerLost where a worker is gone."""
    call, start = group.receive()
    if call is Call.END:
        return
    learner, measured = make_learner(start, group), Measurement()
    while True:
        call, argument = group.receive()
        match call:
            case Call.MEASURE:
                measured = learner.measure(argument)
            case Call.UPDATE:
                learner.update(measured, argument)
            case Call.DIVERGENCE:
                learner.divergence(measured)
            case Call.PROBE:
                learner.probe(argument)
            case Call.WEIGHTS:
                learner.policy.tensors()
            case Call.OPTIMISER:
                gather_state(learner.optimiser, group)
            case _:
                return
