"""Rollouts to tensors: what they have in common once, in micro-batches that never divide a rollout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from torch import Tensor

from crosswind.trainer.rollouts.sequences import RolloutSequences, TokenSequence
from crosswind.trainer.rollouts.trees import LARGEST, ROWS, Forest, Ids, Sharing, Tree


@dataclass(frozen=True, slots=True)
class Sample:
    """A rollout as the optimiser sees it."""

    sequences: RolloutSequences
    advantage: float


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """A micro-batch of R rollouts in B rows of T tokens, with N sampled tokens that are predicted at P
    places: equal tokens after equal tokens have their place in common.
    """

    samples: tuple[Sample, ...]
    """The rollouts that it was made of, in order."""
    sharing: Sharing
    input_ids: Tensor
    """[B, T] int64, padded on the right: padding can't reach a sampled token."""
    rows: Tensor
    columns: Tensor
    """[P] int64: where predictions stand, one before the tokens themselves."""
    place: Tensor
    """[N] int64 in [0, P): where each sampled token is predicted."""
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
    positions: Tensor | None = None
    """[B, T] int64: how many tokens are before each on its path. None: rows are plain sequences."""
    ends: Tensor | None = None
    """[B, T] int64: the place after each token's last descendant; beyond it no token sees it."""

    def halve(self) -> tuple[MicroBatch, MicroBatch]:
        """The first half of the rollouts, and the rest. There are at least two."""
        middle = len(self.samples) // 2
        device = str(self.input_ids.device)
        first, rest = self.samples[:middle], self.samples[middle:]
        return collate(first, device, self.sharing), collate(rest, device, self.sharing)


def micro_batches(
    samples: Sequence[Sample], token_budget: int, device: str = "cpu", sharing: Sharing = ROWS
) -> list[MicroBatch]:
    """Pack whole rollouts so that rows times longest stays within the budget where it can.

    Rollouts that begin alike come together; the trees that come of them are packed by length, shortest first.
    A rollout that exceeds the budget alone is a batch of its own: GSPO's ratio needs all its tokens in one
    graph.
    """
    forests = sorted(
        _build_forests(_by_beginning(samples), sharing, token_budget), key=lambda each: each.order
    )
    packed: list[list[_RolloutForest]] = []
    rows = longest = 0
    for each in forests:
        rows, longest = rows + len(each.forest.trees), max(longest, each.forest.longest)
        # Long rows have no mask: it has as many elements as they have tokens, squared.
        masked = longest > LARGEST and bool(packed) and each.forest.branches != packed[-1][0].forest.branches
        if not packed or masked or rows * longest > token_budget:
            packed.append([])
            rows, longest = len(each.forest.trees), each.forest.longest
        packed[-1].append(each)
    return [_to_tensors(group, device, sharing) for group in packed]


def collate(samples: Sequence[Sample], device: str = "cpu", sharing: Sharing = ROWS) -> MicroBatch:
    """One micro-batch of these rollouts, in this order."""
    return _to_tensors(_build_forests(samples, sharing), device, sharing)


@dataclass(slots=True)
class _RolloutForest:
    """Rollouts that share a forest, and where each one's sequences are in it."""

    forest: Forest
    samples: list[Sample]
    places: list[list[tuple[int, Ids]]]

    @property
    def order(self) -> tuple[bool, int]:
        """Those that need a mask apart from those that need none."""
        return self.forest.branches, self.forest.longest


def _by_beginning(samples: Sequence[Sample]) -> list[Sample]:
    return sorted(samples, key=lambda sample: [one.token_ids for one in sample.sequences.sequences])


def _build_forests(
    samples: Sequence[Sample], sharing: Sharing, token_budget: int | None = None
) -> list[_RolloutForest]:
    forests: list[_RolloutForest] = []
    for sample in samples:
        sequences = [_inputs(one) for one in sample.sequences.sequences]
        grown = forests[-1].forest.place(sequences, sharing) if forests else None
        if grown is None or (token_budget is not None and grown[0].places > token_budget):
            forests.append(_RolloutForest(Forest(), [], []))
            grown = forests[-1].forest.place(sequences, sharing)
            assert grown is not None, "an empty forest takes every rollout"
        forests[-1].forest = grown[0]
        forests[-1].samples.append(sample)
        forests[-1].places.append(grown[1])
    return forests


def _inputs(sequence: TokenSequence) -> Ids:
    """What has to be read to predict the last sampled token."""
    return np.array(sequence.token_ids[: sequence.sampled[-1]], dtype=np.int64)


def _to_tensors(forests: Sequence[_RolloutForest], device: str, sharing: Sharing) -> MicroBatch:
    trees = [tree for each in forests for tree in each.forest.trees]
    samples = tuple(sample for each in forests for sample in each.samples)
    flat = [one for sample in samples for one in sample.sequences.sequences]
    rollout = [number for number, sample in enumerate(samples) for _ in range(sample.sequences.sampled)]
    layout = _Layout.of(trees)
    places, place = np.unique(np.concatenate(_predictions(forests, layout)), return_inverse=True)
    batch = MicroBatch(
        samples,
        sharing,
        input_ids=layout.fill([np.concatenate(tree.ids) for tree in trees]),
        rows=torch.from_numpy(places // layout.width),
        columns=torch.from_numpy(places % layout.width),
        place=torch.from_numpy(place),
        targets=torch.tensor([one.token_ids[at] for one in flat for at in one.sampled], dtype=torch.int64),
        engine=torch.tensor([value for one in flat for value in one.logprobs], dtype=torch.float32),
        current=torch.tensor([value for one in flat for value in one.current], dtype=torch.bool),
        rollout=torch.tensor(rollout, dtype=torch.int64),
        advantages=torch.tensor([sample.advantage for sample in samples], dtype=torch.float32),
    )
    if layout.masked:
        ends = [start % layout.width + tree.ends() for start, tree in zip(layout.starts, trees, strict=True)]
        positions = layout.fill([np.concatenate(tree.positions) for tree in trees])
        batch = replace(batch, positions=positions, ends=layout.fill(ends))
    return to_device(batch, device)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where trees are in rows. Where a mask keeps them apart, short ones share a row."""

    width: int
    rows: int
    starts: list[int]
    """Of each tree, in the flattened rows."""
    masked: bool

    @classmethod
    def of(cls, trees: Sequence[Tree]) -> _Layout:
        width = max(tree.size for tree in trees)
        if not any(tree.branches for tree in trees):
            return cls(width, len(trees), [row * width for row in range(len(trees))], masked=False)
        filled: list[int] = []
        starts = [0] * len(trees)
        for number in sorted(range(len(trees)), key=lambda number: -trees[number].size):  # first fit
            size = trees[number].size
            row = next((row for row, used in enumerate(filled) if used + size <= width), len(filled))
            if row == len(filled):
                filled.append(0)
            starts[number] = row * width + filled[row]
            filled[row] += size
        return cls(width, len(filled), starts, masked=True)

    def fill(self, values: Sequence[Ids]) -> Tensor:
        """[B, T]: each tree's values at its place; padding is 0. As an end that is before all tokens, so that
        none sees it.
        """
        flat = np.zeros(self.rows * self.width, dtype=np.int64)
        for start, row in zip(self.starts, values, strict=True):
            flat[start : start + len(row)] = row
        return torch.from_numpy(flat.reshape(self.rows, self.width))


def _predictions(forests: Sequence[_RolloutForest], layout: _Layout) -> list[Ids]:
    """For each sequence, where in the flattened rows its sampled tokens are predicted."""
    found, first = [], 0
    for each in forests:
        for sample, places in zip(each.samples, each.places, strict=True):
            for one, (tree, path) in zip(sample.sequences.sequences, places, strict=True):
                found.append(layout.starts[first + tree] + path[np.array(one.sampled) - 1])
        first += len(each.forest.trees)
    return found


def to_device(batch: MicroBatch, device: str) -> MicroBatch:
    if device == "cpu":
        return batch
    named = {each.name: getattr(batch, each.name) for each in fields(batch)}
    return replace(
        batch, **{name: value.to(device) for name, value in named.items() if isinstance(value, Tensor)}
    )
