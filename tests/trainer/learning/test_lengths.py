"""Short and long rollouts in one batch: what is packed together, and that it changes no gradient."""

from __future__ import annotations

import random
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import pytest
import torch

from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.trainer.learning import model
from crosswind.trainer.rollouts.batches import MicroBatch, Sample, collate, micro_batches
from crosswind.trainer.rollouts.sequences import RolloutSequences, TokenSequence
from crosswind.trainer.rollouts.trees import LARGEST, ROWS, Sharing
from crosswind.trainer.run.loop import train
from crosswind.trainer.run.progress import Progress
from tests.trainer.learning.test_shared_prefixes import WIDE, add_gradients
from tests.trainer.practice import make_run, play, settings


def draw(lengths: Sequence[int], common: int, vocabulary: int = 60) -> list[Sample]:
    """Rollouts of these lengths that begin alike; every seventh token is sampled."""
    rng = random.Random(3)
    prompt = [rng.randrange(3, vocabulary) for _ in range(common)]
    found = []
    for number, length in enumerate(lengths):
        ids = prompt + [rng.randrange(3, vocabulary) for _ in range(length - common)]
        sampled = list(range(common, length, 7))
        known = [True] * len(sampled)
        one = TokenSequence(ids, sampled, [-0.5 - rng.random() for _ in sampled], known)
        found.append(Sample(RolloutSequences((one,), 0), (-1.0) ** number * (0.5 + number)))
    return found


def count_places(batch: MicroBatch) -> int:
    return batch.input_ids.numel()


@pytest.mark.parametrize("sharing", [ROWS, WIDE], ids=["rows", "trees"])
def test_gradients_of_mixed_lengths_are_those_of_one_rollout_at_a_time(
    sharing: Sharing, first_policy: Path
) -> None:
    policy = model.load(first_policy)
    policy.checkpoint_activations()
    # As 8,192 and 32,768 tokens are to each other; the longest doesn't fit into the budget.
    samples = draw([32, 128, 40, 128, 33, 160, 32], 16)
    batches = micro_batches(samples, 136, sharing=sharing)
    assert [count_places(batch) <= 136 for batch in batches].count(False) == 1
    assert max(batches, key=count_places).advantages.shape == (1,), "the longest is alone"
    alone = add_gradients(policy, [collate([sample]) for sample in samples], "gspo")
    packed = add_gradients(policy, batches, "gspo")
    assert len(batches) < len(samples) and packed[0] == pytest.approx(alone[0], abs=1e-5)
    for name, gradient in alone[1].items():
        assert torch.allclose(gradient, packed[1][name], rtol=0.0, atol=1e-5), name


def test_a_long_row_has_no_mask_and_its_budget_holds() -> None:
    """A mask has as many elements as a row has tokens, squared."""
    lengths = [8192, 32_768, 8000, 8192, 32_000, 4096, 4000, 4096]
    for samples in (draw(lengths, 2000), draw(lengths, 2000)[::-1]):
        for budget in (32_768, 131_072):
            batches = micro_batches(samples, budget, sharing=Sharing(branches=True, width=100_000))
            assert sum(batch.advantages.shape[0] for batch in batches) == len(lengths)
            assert all(count_places(batch) <= budget for batch in batches)
            masked = [batch for batch in batches if batch.ends is not None]
            assert masked and all(batch.input_ids.shape[1] <= LARGEST for batch in masked)


def test_a_rollout_above_the_budget_is_taken_alone_and_said_so_once(
    first_policy: Path, store: SqliteStore, tmp_path: Path
) -> None:
    policy = model.load(first_policy)
    for name in ("a", "b", "c", "d"):
        play(store, policy, name, 4)
    config = settings(steps=2, groups_per_step=2, optimiser__token_budget=3)
    said = StringIO()
    progress = Progress(as_json=True, stream=said)
    assert train(make_run(tmp_path / "out", first_policy, store, config, progress=progress)).step == 2
    told = said.getvalue()
    assert told.count("above optimiser.token_budget (3), since no rollout is divided") == 1, told
