"""Assemble a training step's batch from groups: sequences, advantages, mini-batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from crosswind.gateway.trajectory.record import Arm
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.trainer.config.settings import TrainConfig
from crosswind.trainer.objectives.objective import LossScale
from crosswind.trainer.rollouts import advantages
from crosswind.trainer.rollouts.batches import Sample
from crosswind.trainer.rollouts.groups import Group
from crosswind.trainer.rollouts.running_mean import RunningMeans
from crosswind.trainer.rollouts.sequences import build_sequences


@dataclass(frozen=True, slots=True)
class MiniBatch:
    """The samples of one optimiser step, and what its loss is averaged over."""

    samples: tuple[Sample, ...]
    scale: LossScale


@dataclass(slots=True)
class TrainingBatch:
    """A training step's mini-batches, and counts of what was filtered."""

    mini_batches: list[MiniBatch] = field(default_factory=list)
    filtered_groups: int = 0
    """All rewards equal, over both arms."""
    flat_arms: int = 0
    """Arms with advantage 0 in groups that train: a single rollout, or all rewards equal."""
    splits: int = 0
    """Turns that began a new sequence, since they didn't extend what came before."""
    too_long: int = 0
    """Rollouts with a sequence above `max_sequence`."""
    no_baseline: int = 0
    """Rollouts whose running mean was made by too few rewards."""

    @property
    def samples(self) -> list[Sample]:
        return [sample for mini_batch in self.mini_batches for sample in mini_batch.samples]


def assemble_batch(
    groups: Sequence[Group],
    config: TrainConfig,
    newest_version: str,
    shuffle_seed: str,
    means: RunningMeans | None = None,
) -> TrainingBatch:
    """Filter, weigh and divide a training step's groups. Which group goes where is drawn from the seed.
    `means` are the baselines before the step, where `baseline` is `running`.

    A filtered group stays in the mean that the loss is, as the zero that it is: so a step with few groups to
    learn from is a small step, and not one of full size in a direction that a single group decides. Where
    others were taken for filtered groups, these are in the mean instead.
    """
    kept = [group for group in groups if means is not None or not group.uniform]
    counted = kept if config.refill == "groups" else groups
    batch = TrainingBatch(
        filtered_groups=len(groups) - len(kept),
        flat_arms=0 if means is not None else sum(group.flat_arms for group in kept),
    )
    weights = {group.id: _advantages(group, config, means, batch) for group in groups}
    if config.whitening == "buffer":
        weights |= advantages.whiten({group.id: weights[group.id] for group in kept})
    for part in divide(SeededRandom(shuffle_seed).shuffled(counted), config.optimiser.mini_batches):
        part_weights: dict[str, list[float]] = {group.id: weights[group.id] for group in part}
        if config.whitening == "batch":
            part_weights |= advantages.whiten(
                {group.id: weights[group.id] for group in part if not group.uniform}
            )
        mini_batch = _mini_batch(part, part_weights, config, newest_version, batch)
        if mini_batch.samples:
            batch.mini_batches.append(mini_batch)
    return batch


def divide(groups: Sequence[Group], parts: int) -> list[list[Group]]:
    """The groups in at most `parts` parts, in order, as equal as can be; none is empty."""
    count = min(parts, len(groups))
    bounds = [index * len(groups) // count for index in range(count + 1)] if count else [0]
    return [list(groups[low:high]) for low, high in pairwise(bounds)]


def count_refusals(groups: Sequence[Group], batch: TrainingBatch) -> dict[str, int]:
    """Sessions of these groups that didn't train, by reason."""
    counted: Counter[str] = Counter()
    for group in groups:
        counted.update(group.left_out)
        counted.update(rollout.refused for rollout in group.rollouts if rollout.refused)
    counted.update({"too_long": batch.too_long, "no_baseline": batch.no_baseline})
    return {reason: count for reason, count in sorted(counted.items()) if count}


_WITHIN = {
    "normalised": advantages.normalise,
    "group": advantages.centre,
    "leave_one_out": advantages.leave_one_out,
}


def _advantages(
    group: Group, config: TrainConfig, means: RunningMeans | None, batch: TrainingBatch
) -> list[float]:
    """Of each rollout, within its arm or its group; only centred where they are whitened afterwards. Against
    a running mean, 0 where it doesn't count yet.
    """
    if means is not None:
        compared = [means.compare(rollout) for rollout in group.rollouts]
        batch.no_baseline += compared.count(None)
        return [value or 0.0 for value in compared]
    within = _WITHIN[config.baseline] if config.whitening == "none" else advantages.centre
    if config.advantages == "group":
        return within(group.rewards)
    return advantages.normalise_per_arm(group.rewards, _arms(group, config), within)


def _arms(group: Group, config: TrainConfig) -> list[Arm]:
    """The arm that each rollout counts in: the one that it was assigned, or the one by what it met."""
    if config.curriculum.count == "assigned":
        return [rollout.arm for rollout in group.rollouts]
    return [Arm.NOISY if rollout.exposed else Arm.CLEAN for rollout in group.rollouts]


def _mini_batch(
    groups: Sequence[Group],
    weights: dict[str, list[float]],
    config: TrainConfig,
    newest_version: str,
    batch: TrainingBatch,
) -> MiniBatch:
    """Every rollout counts in the scale; those of advantage 0 are computed only where a KL term needs
    them.
    """
    samples: list[Sample] = []
    tokens = 0
    for group in groups:
        for index in group.trainable:
            sequences = build_sequences(group.rollouts[index].turns, newest_version)
            if sequences.longest > config.max_sequence:
                batch.too_long += 1
                continue
            tokens += sequences.sampled
            batch.splits += sequences.splits
            weight = weights[group.id][index]
            if weight != 0.0 or (config.loss.kl > 0 and not group.uniform):
                samples.append(Sample(sequences, weight))
    return MiniBatch(tuple(samples), LossScale(sum(len(group.rollouts) for group in groups), max(tokens, 1)))
