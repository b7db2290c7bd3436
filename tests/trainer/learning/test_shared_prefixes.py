"""What rollouts have in common is computed once, with the gradients that each of them alone would give."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from crosswind.policies.versions.version import read_version
from crosswind.trainer.config.settings import LoraSettings
from crosswind.trainer.learning import model
from crosswind.trainer.learning.lora import AdapterPolicy
from crosswind.trainer.learning.model import Policy
from crosswind.trainer.objectives.objective import LossScale, ObjectiveSettings, SampledTokens, resolve
from crosswind.trainer.rollouts.batches import MicroBatch, Sample, collate, micro_batches
from crosswind.trainer.rollouts.sequences import RolloutSequences, TokenSequence
from crosswind.trainer.rollouts.trees import ROWS, Sharing
from tests.trainer.learning.test_architectures import ARCHITECTURES, save_random_model

WIDE = Sharing(branches=True, width=10_000)
"""Whatever is common is shared, however small the model."""


def draw_rollouts(seed: int = 0, vocabulary: int = 60) -> list[Sample]:
    """Two prompts' rollouts: equal ones, ones that part early and late, one that is another's beginning, and
    one in two sequences.
    """
    rng = random.Random(seed)

    def tokens(count: int) -> list[int]:
        return [rng.randrange(3, vocabulary) for _ in range(count)]

    def rollout(*sequences: list[int], advantage: float) -> Sample:
        made = []
        for ids in sequences:
            sampled = [place for place in range(6, len(ids)) if place % 5]
            logprobs = [-0.5 - rng.random() for _ in sampled]
            made.append(TokenSequence(ids, sampled, logprobs, [True] * len(sampled)))
        return Sample(RolloutSequences(tuple(made), 0), advantage)

    found = []
    for _ in range(2):
        prompt, tail = tokens(6), tokens(14)
        found += [
            rollout(prompt + tail, advantage=1.5),
            rollout(prompt + tail, advantage=-0.5),
            rollout(prompt + tail[:9] + tokens(7), advantage=-1.0),
            rollout(prompt + tail[:10], advantage=0.25),
            rollout(prompt + tokens(12), prompt[:4] + tokens(9), advantage=0.75),
        ]
    return found


def add_gradients(
    policy: Policy, batches: Sequence[MicroBatch], objective: str, **settings: Any
) -> tuple[float, dict[str, Tensor], float]:
    """Loss, gradients by name and the sum of entropies."""
    policy.module.zero_grad()
    loss = entropy = 0.0
    for batch in batches:
        logprobs, each = policy.score(batch, 0.9)
        near = [logprobs.detach() + share * batch.engine for share in (0.1, 0.2, 0.3)]
        tokens = SampledTokens(logprobs, near[0], near[1], batch.rollout, batch.advantages, near[2])
        chosen = ObjectiveSettings(clip_low=0.2, clip_high=0.28, kl=0.05, **settings)
        outcome = resolve(objective)(tokens, chosen, LossScale(12, 150))
        outcome.loss.backward()
        loss, entropy = loss + float(outcome.loss.detach()), entropy + float(each.sum())
    named = policy.module.named_parameters()
    return loss, {name: one.grad.clone() for name, one in named if one.grad is not None}, entropy


def assert_alike(policy: Policy, shared: Sharing, objective: str = "gspo", **settings: Any) -> None:
    samples = draw_rollouts()
    alone = [collate([sample]) for sample in samples]
    loss, gradients, entropy = add_gradients(policy, alone, objective, **settings)
    for budget in (10_000, 50):
        batches = micro_batches(samples, budget, sharing=shared)
        again, theirs, their_entropy = add_gradients(policy, batches, objective, **settings)
        assert again == pytest.approx(loss, abs=1e-5)
        assert their_entropy == pytest.approx(entropy, rel=1e-5)
        assert theirs.keys() == gradients.keys()
        largest = max(float(one.abs().max()) for one in gradients.values())
        for name, gradient in gradients.items():
            assert float((gradient - theirs[name]).abs().max()) <= 1e-5 * max(largest, 1.0), name


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_gradients_are_those_of_rows_whatever_the_architecture(name: str, tmp_path: Path) -> None:
    """Windows are shorter than the rollouts here."""
    save_random_model(tmp_path, name, sliding_window=8)
    policy = model.load(tmp_path)
    assert policy.sharing.branches, policy.unshared
    tree = collate(draw_rollouts(), sharing=WIDE)
    assert tree.ends is not None and tree.input_ids.numel() < collate(draw_rollouts()).input_ids.numel()
    assert_alike(policy, WIDE)


@pytest.mark.parametrize("objective", ["gspo", "grpo", "dapo", "reinforce"])
@pytest.mark.parametrize(
    "settings", [{}, {"aggregation": "token", "dual_clip": 3.0, "importance": "sequence"}]
)
def test_gradients_are_those_of_rows_whatever_the_objective(
    first_policy: Path, objective: str, settings: dict[str, Any]
) -> None:
    policy = model.load(first_policy)
    assert_alike(policy, WIDE, objective, **settings)
    assert_alike(policy, ROWS, objective, **settings)


def test_gradients_of_adapters_are_those_of_rows(first_policy: Path) -> None:
    lora = LoraSettings(rank=3, alpha=6.0)
    policy = AdapterPolicy(model.load(first_policy), read_version(first_policy), lora, 0)
    with torch.no_grad():
        for parameter in policy.trainable_parameters():
            parameter.add_(0.05)
    assert policy.sharing.branches
    assert_alike(policy, WIDE)


def test_gradients_with_checkpointed_activations_are_those_of_rows(first_policy: Path) -> None:
    policy = model.load(first_policy)
    policy.checkpoint_activations()
    assert_alike(policy, WIDE)


def test_a_model_that_sees_past_its_mask_reads_rows_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_random_model(tmp_path, "Llama")
    policy = model.load(tmp_path)
    forward = policy.module.forward

    def deaf(*, attention_mask: Any = None, **inputs: Any) -> Any:
        return forward(**inputs)

    monkeypatch.setattr(policy.module, "forward", deaf)
    assert policy.sharing == ROWS
    assert "log-probabilities change" in policy.unshared

    other = model.load(tmp_path)

    def strict(*, input_ids: Tensor, use_cache: bool) -> Any:
        raise AssertionError

    monkeypatch.setattr(other.module, "forward", strict)
    with pytest.raises(AssertionError):
        other.score(collate(draw_rollouts()[:1]), 1.0)
    assert other.sharing == ROWS and "refuses" in other.unshared


def test_layers_without_attention_read_rows(tmp_path: Path) -> None:
    save_random_model(tmp_path, "Qwen3")
    policy = model.load(tmp_path)
    policy.module.config.layer_types = ["linear_attention", "full_attention"]
    assert policy.sharing == ROWS and "linear_attention" in policy.unshared


@given(
    st.lists(
        st.lists(st.lists(st.integers(0, 2), min_size=2, max_size=9), min_size=1, max_size=2),
        min_size=1,
        max_size=10,
    ),
    st.integers(4, 60),
    st.sampled_from([ROWS, WIDE, Sharing(branches=True, width=2)]),
)
def test_every_token_stands_after_its_own_beginning(
    rollouts: list[list[list[int]]], budget: int, sharing: Sharing
) -> None:
    """Read along the mask, each sampled token's place has just the tokens of its sequence before it."""
    samples = []
    for index, sequences in enumerate(rollouts):
        made = [
            TokenSequence(ids, list(range(1, len(ids))), [0.0] * (len(ids) - 1), [True] * (len(ids) - 1))
            for ids in sequences
        ]
        samples.append(Sample(RolloutSequences(tuple(made), 0), float(index)))
    seen = []
    for batch in micro_batches(samples, budget, sharing=sharing):
        width = batch.input_ids.shape[1]
        assert sharing.branches or batch.ends is None
        assert len(batch.samples) == 1 or batch.input_ids.numel() <= budget
        expected = [
            one.token_ids[: place + 1]
            for sample in batch.samples
            for one in sample.sequences.sequences
            for place in one.sampled
        ]
        ids, rows, columns = batch.input_ids.tolist(), batch.rows.tolist(), batch.columns.tolist()
        ends = [[width] * width] * len(ids) if batch.ends is None else batch.ends.tolist()
        for place, target, whole in zip(batch.place.tolist(), batch.targets.tolist(), expected, strict=True):
            row, column = rows[place], columns[place]
            path = [node for node in range(column + 1) if column < ends[row][node]]
            assert [ids[row][node] for node in path] + [target] == whole
            if batch.positions is not None:
                assert batch.positions[row, path].tolist() == list(range(len(path)))
        seen += [sample.advantage for sample in batch.samples]
    assert sorted(seen) == [float(index) for index in range(len(rollouts))]
