"""What the learner makes of a step's material, beside the loop."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
import torch

from crosswind.policies.deployment.confirmation import measure_difference
from crosswind.trainer.config.settings import configure
from crosswind.trainer.errors import OutOfMemory
from crosswind.trainer.learning import model
from crosswind.trainer.learning.learner import Learner
from crosswind.trainer.learning.model import Policy
from crosswind.trainer.learning.optimiser import list_parameters
from crosswind.trainer.objectives.objective import LossScale
from crosswind.trainer.rollouts.assembly import MiniBatch, TrainingBatch
from crosswind.trainer.rollouts.batches import MicroBatch, Sample, collate
from crosswind.trainer.run import checkpoint
from crosswind.trainer.run.checkpoint import RunState
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
        assert before.engine_gap is not None and before.engine_gap.largest < 1e-5
        learned = learner.update(before, 1)
        assert learned.optimiser_steps == 1
        assert learner.divergence(before) > 0
        moved.append(policy.tensors())
    for name, weight in moved[0].items():
        assert torch.allclose(weight, moved[1][name], atol=1e-4), name


@dataclass
class CountingPolicy(Policy):
    """A policy that counts how often it was asked with gradients, and without."""

    asked: list[bool] = field(default_factory=list)

    def score(self, batch: MicroBatch, temperature: float) -> tuple[torch.Tensor, torch.Tensor]:
        self.asked.append(torch.is_grad_enabled())
        return super().score(batch, temperature)


def test_the_first_pass_measures_as_well_and_moves_the_weights_alike(first_policy: Path) -> None:
    """A measurement that another one came after has its first pass taken again."""
    moved = []
    for measurements in (1, 2):
        loaded = model.load(first_policy)
        policy = CountingPolicy(loaded.module, loaded.source, loaded.files)
        learner = Learner(policy, settings(optimiser__learning_rate=0.01))
        samples = draw_samples(policy)
        parts = [MiniBatch(half, LossScale(6, 12)) for half in (samples[:3], samples[3:])]
        before, *_ = [learner.measure(TrainingBatch(parts)) for _ in range(measurements)]
        policy.asked.clear()
        assert learner.update(before, 1).optimiser_steps == 2
        assert policy.asked == [True] * measurements, "the first mini-batch's was taken by the measurement"
        moved.append(policy.tensors())
    for name, weight in moved[0].items():
        assert torch.equal(weight, moved[1][name]), name


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
    learner = Learner(policy, config, reference.score)
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


def test_bfloat16_moves_as_far_as_float32(first_policy: Path) -> None:
    """At 1e-6 a weight's own bfloat16 would round every update away."""
    config = configure("noisyagent/ours", {"optimiser.mini_batches": 1, "optimiser.data_reuse": 1})
    moved = {}
    for dtype in ("float32", "bfloat16"):
        policy = model.load(first_policy, dtype=dtype)
        learner = Learner(policy, config)
        before = [one.detach().float().clone() for one in list_parameters(learner.optimiser)]
        samples = tuple(
            as_sample(policy, [20 + index, 21, 22, 23, 24], [2, 3, 4], (-1.0) ** index) for index in range(4)
        )
        batch = TrainingBatch([MiniBatch(samples, LossScale(4, 12))])
        for step in range(10):
            learner.update(learner.measure(batch), step + 1)
        after = list_parameters(learner.optimiser)
        assert all(one.dtype == torch.float32 for one in after)
        moved[dtype] = (
            sum(float((a - b).detach().pow(2).sum()) for a, b in zip(after, before, strict=True)) ** 0.5
        )
        assert all(
            torch.equal(one.detach().to(weight.dtype), weight)
            for one, weight in zip(after, policy.trainable_parameters(), strict=True)
        ), "the weights are the masters, rounded"
    assert 0.9 < moved["bfloat16"] / moved["float32"] < 1.1


def test_master_weights_are_kept_over_a_checkpoint(first_policy: Path, tmp_path: Path) -> None:
    learners = [Learner(model.load(first_policy, dtype="bfloat16"), configure("demo", {})) for _ in range(2)]
    sample = as_sample(learners[0].policy, [20, 21, 22, 23], [2, 3], 1.0)
    batch = TrainingBatch([MiniBatch((sample,), LossScale(1, 2))])
    learners[0].update(learners[0].measure(batch), 1)
    path = checkpoint.save(tmp_path, learners[0].policy, learners[0].optimiser, RunState("run", "sum"))
    checkpoint.restore(path, learners[1].policy, learners[1].optimiser)
    for learner in learners:
        learner.update(learner.measure(batch), 2)
    for one, other in zip(*(list_parameters(learner.optimiser) for learner in learners), strict=True):
        assert torch.equal(one, other)


def test_how_far_a_step_went_is_measured_on_all_its_rollouts(policy: Policy) -> None:
    """Not on the shortest of the first mini-batch only."""
    samples = [as_sample(policy, ids, [2, 3], 0.0) for ids in ([20, 21, 22, 23], [30, 31, 32, 33, 34, 35])]
    learner = Learner(policy, settings(optimiser__token_budget=1))
    before = learner.measure(TrainingBatch([MiniBatch((one,), LossScale(1, 2)) for one in samples]))
    with torch.no_grad():
        for weight in policy.module.parameters():
            weight.mul_(1.2)
    after = learner.measure(TrainingBatch([MiniBatch((one,), LossScale(1, 2)) for one in samples]))
    gaps = [
        two.old - one.old
        for (ones, _), (twos, _) in zip(before.mini_batches, after.mini_batches, strict=True)
        for one, two in zip(ones, twos, strict=True)
    ]
    assert len(gaps) == 2
    expected = torch.cat([gap.exp() - gap - 1 for gap in gaps]).mean()
    assert learner.divergence(before) == pytest.approx(float(expected), rel=1e-5)


def test_one_strange_token_of_many_is_rounding_and_many_are_not() -> None:
    one = measure_difference([0.0] * 1000, [0.5] + [1e-5] * 999)
    assert one.largest == 0.5 and one.is_rounding(1e-3)
    assert not measure_difference([0.0] * 1000, [0.5] * 20 + [1e-5] * 980).is_rounding(1e-3)
    assert not measure_difference([0.0] * 1000, [20.0] + [0.0] * 999).is_rounding(1e-3), "by the mean"
    assert not measure_difference([0.0] * 1000, [float("nan")] + [0.0] * 999).is_rounding(1e-3)


def draw_samples(policy: Policy, count: int = 6) -> tuple[Sample, ...]:
    rng = random.Random(5)
    return tuple(
        as_sample(
            policy,
            [index, *(rng.randrange(300) for _ in range(5 + index))],  # nothing in common
            [3, 4 + index],
            (-1.0) ** index,
        )
        for index in range(count)
    )


@dataclass
class SmallMemory(Policy):
    """A policy on a machine whose memory takes so many tokens of a micro-batch."""

    most: int = 0

    def score(self, batch: MicroBatch, temperature: float) -> tuple[torch.Tensor, torch.Tensor]:
        if torch.is_grad_enabled() and batch.input_ids.numel() > self.most:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return super().score(batch, temperature)


def on_small_memory(first_policy: Path, most: int) -> SmallMemory:
    loaded = model.load(first_policy)
    return SmallMemory(loaded.module, loaded.source, loaded.files, most=most)


def test_a_micro_batch_that_does_not_fit_is_halved_and_taken_again(first_policy: Path) -> None:
    plain, small = model.load(first_policy), on_small_memory(first_policy, 40)
    samples = draw_samples(plain)
    config = settings(optimiser__learning_rate=0.01, optimiser__mini_batches=1, optimiser__data_reuse=2)
    for policy in (plain, small):
        learner = Learner(policy, config)
        learned = learner.update(learner.measure(TrainingBatch([MiniBatch(samples, LossScale(6, 12))])), 1)
        assert learned.optimiser_steps == 2
    assert learned.halved == ["6 rollouts in 6 rows of 9 tokens"], "the second pass has the halves already"
    assert learner.token_budget == config.optimiser.token_budget // 2
    for name, weight in plain.tensors().items():
        assert torch.allclose(weight, small.tensors()[name], atol=1e-4), name


def test_a_micro_batch_that_does_not_fit_halved_ends_the_run_and_is_named(first_policy: Path) -> None:
    policy = on_small_memory(first_policy, 20)
    learner = Learner(policy, settings(optimiser__mini_batches=1))
    before = learner.measure(TrainingBatch([MiniBatch(draw_samples(policy), LossScale(6, 12))]))
    weights = {name: weight.clone() for name, weight in policy.tensors().items()}
    with pytest.raises(OutOfMemory, match="6 rollouts in 6 rows of 9 tokens doesn't fit into memory"):
        learner.update(before, 1)
    assert all(torch.equal(weight, policy.tensors()[name]) for name, weight in weights.items())


def test_halves_hold_every_token_once(policy: Policy) -> None:
    whole = collate(draw_samples(policy, 5))
    first, rest = whole.halve()
    assert (first.advantages.shape[0], rest.advantages.shape[0]) == (2, 3)
    with torch.no_grad():
        parts = torch.cat([policy.score(half, 1.0)[0] for half in (first, rest)])
        assert torch.allclose(parts, policy.score(whole, 1.0)[0], atol=1e-6)
    assert torch.equal(torch.cat([first.rollout, rest.rollout + 2]), whole.rollout)


def keep_size(sizes: list[int], tensor: torch.Tensor) -> torch.Tensor:
    sizes.append(tensor.numel())
    return tensor


def test_checkpointed_activations_give_the_same_gradients(first_policy: Path) -> None:
    gradients: list[dict[str, torch.Tensor]] = []
    kept: list[int] = []
    for checkpointed in (False, True):
        policy = model.load(first_policy)
        if checkpointed:
            policy.checkpoint_activations()
        batch = collate(draw_samples(policy))
        saved: list[int] = []
        hooks = torch.autograd.graph.saved_tensors_hooks(partial(keep_size, saved), lambda one: one)
        with hooks:
            logprobs = policy.score(batch, 1.0)[0]
        logprobs.sum().backward()
        gradients.append({name: one.grad for name, one in policy.module.named_parameters()})
        kept.append(sum(saved))
    assert kept[1] < kept[0] / 2, "most activations aren't kept"
    for name, gradient in gradients[0].items():
        assert torch.allclose(gradient, gradients[1][name], atol=1e-6), name
