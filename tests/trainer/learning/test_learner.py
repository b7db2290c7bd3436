"""What the learner makes of a step's material, beside the loop."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import torch

from crosswind.trainer.config.settings import configure
from crosswind.trainer.learning import model
from crosswind.trainer.learning.learner import Learner
from crosswind.trainer.learning.model import Policy
from crosswind.trainer.objectives.objective import LossScale
from crosswind.trainer.rollouts.assembly import MiniBatch, TrainingBatch
from tests.trainer.practice import as_sample, settings


def test_one_optimiser_step_is_the_objectives_gradient_clipped_by_norm(first_policy: Path) -> None:
    """Micro-batches of any size give the same step as all at once."""
    rng = random.Random(3)
    base = model.load(first_policy)
    samples = tuple(
        as_sample(base, [rng.randrange(300) for _ in range(6 + index)], [3, 4 + index], (-1.0) ** index)
        for index in range(6)
    )
    moved = []
    for budget in (1, 10_000):
        policy = model.load(first_policy)
        config = settings(optimiser__token_budget=budget, optimiser__learning_rate=0.01)
        learner = Learner(policy, config)
        before = learner.measure(TrainingBatch([MiniBatch(samples, LossScale(6, 12))]))
        assert before.engine_gap == pytest.approx(0.0, abs=1e-5)
        learned = learner.update(before, 1)
        assert learned.optimiser_steps == 1
        assert learner.divergence(before) > 0
        moved.append(policy.tensors())
    for name, weight in moved[0].items():
        assert torch.allclose(weight, moved[1][name], atol=1e-4), name


def test_the_learning_rate_rises_over_the_warm_up_and_stays(policy: Policy) -> None:
    learner = Learner(policy, settings(optimiser__warmup_steps=3, optimiser__learning_rate=0.04))
    material = TrainingBatch([MiniBatch((as_sample(policy, [20, 21, 22], [2], 1.0),), LossScale(1, 1))])
    rates = []
    for step in range(1, 6):
        learner.update(learner.measure(material), step)
        rates.append(learner.optimiser.param_groups[0]["lr"])
    assert rates == pytest.approx([0.01, 0.02, 0.03, 0.04, 0.04])


def test_data_reuse_is_two_optimiser_steps_per_group_at_most(policy: Policy) -> None:
    config = configure("noisyagent/ours", {})
    learner = Learner(policy, config)
    samples = tuple(as_sample(policy, [20, 21, 22, 23], [2, 3], sign) for sign in (1.0, -1.0))
    learned = learner.update(learner.measure(TrainingBatch([MiniBatch(samples, LossScale(2, 4))])), 1)
    assert learned.optimiser_steps == 2


def test_the_kl_term_holds_the_policy_to_its_reference(first_policy: Path) -> None:
    """With a heavy KL term, a policy that has moved is pulled back, though no advantage asks for anything."""
    policy, reference = model.load(first_policy), model.load(first_policy)
    sample = as_sample(policy, [20, 21, 22, 23, 24], [2, 3, 4], 0.0)
    material = TrainingBatch([MiniBatch((sample,), LossScale(1, 3))])
    config = settings(loss__kl=1.0, optimiser__learning_rate=0.003, optimiser__mini_batches=1)
    learner = Learner(policy, config, reference)
    with torch.no_grad():
        for weight in policy.module.parameters():
            weight.mul_(1.2)
    measured = [learner.measure(material)]
    for _ in range(20):
        learner.update(measured[-1], 1)
        measured.append(learner.measure(material))
    apart = [
        float((one.mini_batches[0][0][0].old - one.mini_batches[0][0][0].reference).abs().mean())
        for one in (measured[0], measured[-1])
    ]
    assert apart[1] < 0.5 * apart[0]
