"""Rollouts to padded tensors: sorted by length, cut into micro-batches that never divide a rollout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from crosswind.trainer.rollouts.sequences import RolloutSequences


@dataclass(frozen=True, slots=True)
class Sample:
    """A rollout as the optimiser sees it."""

    sequences: RolloutSequences
    advantage: float


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """A micro-batch of R rollouts in B rows of T tokens, with N sampled tokens."""

    input_ids: Tensor
    """[B, T] int64, padded on the right: under causal attention padding can't reach a sampled token."""
    rows: Tensor
    columns: Tensor
    """[N] int64: where the *prediction* of each sampled token stands, one before the token itself."""
    targets: Tensor
    """[N] int64: the sampled tokens."""
    engine: Tensor
    """[N] float32: the engine's log-probabilities."""
    current: Tensor
    """[N] bool: in a turn that the newest policy version alone sampled."""
    rollout: Tensor
    """[N] int64 in [0, R)."""
    advantages: Tensor
    """[R] float32."""


def micro_batches(samples: Sequence[Sample], token_budget: int, device: str = "cpu") -> list[MicroBatch]:
    """Pack whole rollouts, shortest first, so that rows times longest stays within the budget where it can.

    A rollout that exceeds the budget alone is a batch of its own: GSPO's ratio needs all its tokens in one
    graph.
    """
    order = sorted(range(len(samples)), key=lambda index: (samples[index].sequences.longest, index))
    packed: list[list[Sample]] = []
    rows = 0
    for index in order:
        sequences = samples[index].sequences
        count = len(sequences.sequences)
        if not packed or (rows + count) * sequences.longest > token_budget:
            packed.append([])
            rows = 0
        packed[-1].append(samples[index])
        rows += count
    return [collate(batch, device) for batch in packed]


def collate(samples: Sequence[Sample], device: str = "cpu") -> MicroBatch:
    flat = [(number, one) for number, sample in enumerate(samples) for one in sample.sequences.sequences]
    input_ids = torch.zeros(len(flat), max(len(one.token_ids) for _, one in flat), dtype=torch.int64)
    for row, (_, one) in enumerate(flat):
        input_ids[row, : len(one.token_ids)] = torch.tensor(one.token_ids, dtype=torch.int64)
    places = [(row, number, place, one) for row, (number, one) in enumerate(flat) for place in one.sampled]
    batch = MicroBatch(
        input_ids=input_ids,
        rows=torch.tensor([row for row, *_ in places], dtype=torch.int64),
        columns=torch.tensor([place - 1 for _, _, place, _ in places], dtype=torch.int64),
        targets=torch.tensor([one.token_ids[place] for _, _, place, one in places], dtype=torch.int64),
        engine=torch.tensor([value for _, one in flat for value in one.logprobs], dtype=torch.float32),
        current=torch.tensor([value for _, one in flat for value in one.current], dtype=torch.bool),
        rollout=torch.tensor([number for _, number, _, _ in places], dtype=torch.int64),
        advantages=torch.tensor([sample.advantage for sample in samples], dtype=torch.float32),
    )
    return to_device(batch, device)


def halve(batch: MicroBatch) -> tuple[MicroBatch, MicroBatch]:
    """The first half of a micro-batch's rollouts, and the rest. It has at least two."""
    count = batch.advantages.shape[0]
    first = batch.rollout < count // 2
    return _select(batch, first, slice(None, count // 2)), _select(batch, ~first, slice(count // 2, None))


def _select(batch: MicroBatch, tokens: Tensor, rollouts: slice) -> MicroBatch:
    """Some whole rollouts of a micro-batch, with their rows only. `tokens`: [N] bool."""
    rows, places = torch.unique(batch.rows[tokens], return_inverse=True)
    return MicroBatch(
        input_ids=batch.input_ids[rows],
        rows=places,
        columns=batch.columns[tokens],
        targets=batch.targets[tokens],
        engine=batch.engine[tokens],
        current=batch.current[tokens],
        rollout=batch.rollout[tokens] - (rollouts.start or 0),
        advantages=batch.advantages[rollouts],
    )


def to_device(batch: MicroBatch, device: str) -> MicroBatch:
    if device == "cpu":
        return batch
    return MicroBatch(*(getattr(batch, name).to(device) for name in MicroBatch.__dataclass_fields__))
