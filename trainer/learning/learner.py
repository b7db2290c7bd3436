"""One training step's arithmetic: measure with the old weights, then take the optimiser's steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor

from crosswind.policies.deployment.confirmation import Difference, Probe, measure_difference
from crosswind.trainer.config.settings import TrainConfig
from crosswind.trainer.errors import OutOfMemory
from crosswind.trainer.learning.model import Policy
from crosswind.trainer.learning.optimiser import list_parameters, make_optimiser
from crosswind.trainer.learning.worker_group import Call
from crosswind.trainer.objectives.objective import (
    LossScale,
    Objective,
    ObjectiveResult,
    SampledTokens,
    resolve,
)
from crosswind.trainer.objectives.terms import divergence
from crosswind.trainer.rollouts.assembly import TrainingBatch
from crosswind.trainer.rollouts.batches import MicroBatch, Sample, micro_batches
from crosswind.trainer.rollouts.sequences import RolloutSequences, TokenSequence

Score = Callable[[MicroBatch, float], tuple[Tensor, Tensor]]
"""As `Policy.score`: log-probabilities of the sampled tokens at a temperature, and entropies."""
_LESS_MEMORY = "lower optimiser.token_budget or max_sequence, or set checkpointing=true or lora.rank=8"


@dataclass(frozen=True, slots=True)
class ScoredBatch:
    """A micro-batch with its log-probabilities under the weights before the step."""

    batch: MicroBatch
    old: Tensor
    """[N] log π_old."""
    reference: Tensor | None
    """[N] log π_ref, where the KL term is on."""
    padding: bool = False
    """Another worker's, computed so that all compute as many; it counts nowhere."""

    def halve(self) -> list[ScoredBatch]:
        """Its rollouts in two micro-batches; itself where it has but one."""
        count = self.batch.advantages.shape[0]
        if count < 2:
            return [self]
        first = self.batch.rollout < count // 2
        return [
            ScoredBatch(batch, self.old[kept], None if self.reference is None else self.reference[kept])
            for batch, kept in zip(self.batch.halve(), (first, ~first), strict=True)
        ]

    def __str__(self) -> str:
        return _describe(self.batch)


@dataclass(slots=True)
class Measurement:
    """All micro-batches of a training step, by mini-batch, measured before its first update. The figures are
    those of all workers, the micro-batches this one's.
    """

    mini_batches: list[tuple[list[ScoredBatch], LossScale]] = field(default_factory=list)
    entropy: float = 0.0
    """Mean over the sampled tokens, in nats."""
    tokens: int = 0
    engine_gap: Difference | None = None
    """|log π_old - log π_engine| over tokens that the newest version sampled; None: there were none."""
    drift: float = 0.0
    """Mean of log π_engine - log π_old over all tokens: how far off-policy they are."""
    oversized: str = ""
    """The largest micro-batch above the token budget, where it is the largest so far: a rollout alone."""
    effective_share: float = 1.0
    """Effective sample size over the tokens' importance weights, (Σ w)² / Σ w² (Kong 1992), as a share of
    the tokens.
    """


@dataclass(slots=True)
class UpdateResult:
    """The outcome of a training step's optimiser steps."""

    loss: float = 0.0
    """Mean over the optimiser steps."""
    clip_share: float = 0.0
    """Ratios without gradient, of all ratios."""
    gradient_norm: float = 0.0
    """Largest norm before clipping."""
    optimiser_steps: int = 0
    not_finite: int = 0
    """Optimiser steps that weren't taken, since their gradient wasn't finite."""
    losses: list[float] = field(default_factory=list)
    halved: list[str] = field(default_factory=list)
    """Micro-batches that didn't fit into memory, and were halved."""


@dataclass(frozen=True, slots=True)
class _BatchMeasurement:
    """A micro-batch before the step: scored, with the sum of its entropies and its loss."""

    scored: ScoredBatch
    entropy: float
    outcome: ObjectiveResult


class Learner:
    """A policy with its optimiser and objective. `reference` scores by the policy of the KL term, where there
    is one.
    """

    def __init__(self, policy: Policy, config: TrainConfig, reference: Score | None = None) -> None:
        self.policy = policy
        self.config = config
        self.reference = reference
        self.token_budget = config.optimiser.token_budget
        """Halved where a micro-batch didn't fit into memory."""
        self._largest = 0
        """Tokens of the largest micro-batch above the budget that was told of."""
        self.optimiser = make_optimiser(policy.trainable_parameters(), config.optimiser)
        self.objective: Objective = resolve(config.objective)
        self._first: tuple[Measurement, list[ObjectiveResult]] | None = None
        """A measurement whose first mini-batch has its gradients already, and what these came of."""

    def measure(self, material: TrainingBatch) -> Measurement:
        """Score everything with the weights as they are.

        The first mini-batch's first pass has those weights, too: it is taken here, and its gradients are kept
        for `update`.
        """
        with self.policy.group.together(Call.MEASURE, material):
            before = Measurement()
            self._first = None
            counted: list[_BatchMeasurement] = []
            for mini_batch in material.mini_batches:
                part, scale = self._pack(mini_batch.samples, before), mini_batch.scale
                if before.mini_batches or (taken := self._take_first_pass(part, scale)) is None:
                    taken = [self._measure(batch, scale, padding) for batch, padding in part]
                elif taken:
                    self._first = before, [each.outcome for each in taken if not each.scored.padding]
                counted += [each for each in taken if not each.scored.padding]
                before.mini_batches.append(([each.scored for each in taken], scale))
            self._sum_up(before, counted)
        return before

    def _pack(self, samples: Sequence[Sample], before: Measurement) -> list[tuple[MicroBatch, bool]]:
        """This worker's micro-batches, and which of them are padding. Several workers take smaller ones where
        that keeps all of them at work.
        """
        group, policy = self.policy.group, self.policy
        batches = micro_batches(samples, self.token_budget, policy.device, policy.sharing)
        largest = max(batches, key=_count_places, default=None)
        if largest is not None and _count_places(largest) > max(self.token_budget, self._largest):
            self._largest = _count_places(largest)
            before.oversized = _describe(largest)
        if group.size > 1:
            share = -(-sum(batch.input_ids.numel() for batch in batches) // group.size)
            if share < self.token_budget:
                batches = micro_batches(samples, share, policy.device, policy.sharing)
        return group.share(batches)

    def _sum_up(self, before: Measurement, counted: Sequence[_BatchMeasurement]) -> None:
        """The figures of all workers' micro-batches."""
        group, scored = self.policy.group, [each.scored for each in counted]
        weights = [each.outcome.weights for each in counted if each.outcome.weights is not None]
        flat = torch.cat(weights).double() if weights else torch.zeros(0)
        sums = [
            sum(each.entropy for each in counted),
            sum(float((each.batch.engine - each.old).sum()) for each in scored),
            sum(each.old.shape[0] for each in scored),
        ]
        moments = [float(flat.sum()), float(flat.square().sum()), flat.shape[0]]
        entropy, drift, tokens, *moments = group.add_up([*sums, *moments])
        before.tokens = int(tokens)
        before.entropy = entropy / max(before.tokens, 1)
        before.drift = drift / max(before.tokens, 1)
        before.effective_share = _effective_share(*moments)
        ours, engine = (group.join_lists(values) for values in _list_current(scored))
        before.engine_gap = measure_difference(ours, engine) if ours else None

    def _take_first_pass(
        self, part: Sequence[tuple[MicroBatch, bool]], scale: LossScale
    ) -> list[_BatchMeasurement] | None:
        """Measure micro-batches and leave their gradients, added up; None where memory doesn't do for it."""
        self.optimiser.zero_grad(set_to_none=True)
        try:
            return [self._measure(batch, scale, padding, with_gradients=True) for batch, padding in part]
        except torch.OutOfMemoryError:
            if self.policy.group.size > 1:
                raise self._explain_memory(max((batch for batch, _ in part), key=_count_places)) from None
            self.optimiser.zero_grad(set_to_none=True)
            return None

    def _measure(
        self, batch: MicroBatch, scale: LossScale, padding: bool, *, with_gradients: bool = False
    ) -> _BatchMeasurement:
        reference = self._score(self.reference, batch)[0] if self.reference is not None else None
        with torch.set_grad_enabled(with_gradients):
            logprobs, entropy = self.policy.score(batch, self.config.temperature)
            scored = ScoredBatch(batch, logprobs.detach(), reference, padding)
            outcome = self._lose(scored, logprobs, scale)
        if with_gradients:
            outcome = self._add_gradients(outcome, padding)
        return _BatchMeasurement(scored, float(entropy.sum()), outcome)

    def update(self, before: Measurement, step: int) -> UpdateResult:
        """Take one optimiser step per mini-batch, `data_reuse` times over. `step` counts training steps from
        1.
        """
        learned = UpdateResult()
        for group in self.optimiser.param_groups:
            group["lr"] = self._learning_rate(step)
        clipped = ratios = 0
        first = self._first[1] if self._first is not None and self._first[0] is before else None
        self._first = None
        with self.policy.group.together(Call.UPDATE, step):
            for _ in range(self.config.optimiser.data_reuse):
                for index, (measured, scale) in enumerate(before.mini_batches):
                    if first is not None:
                        fitting, outcomes, first = measured, self._move(first, learned), None
                    else:
                        fitting, outcomes = self._step_within_memory(measured, scale, learned)
                    before.mini_batches[index] = fitting, scale
                    clipped += sum(outcome.clipped for outcome in outcomes)
                    ratios += sum(outcome.ratios for outcome in outcomes)
            # Of all workers; the norms and the number of steps are the same at each.
            clips, of, *learned.losses = self.policy.group.add_up([clipped, ratios, *learned.losses])
        learned.clip_share = clips / max(of, 1)
        learned.loss = sum(learned.losses) / max(len(learned.losses), 1)
        return learned

    def _learning_rate(self, step: int) -> float:
        settings = self.config.optimiser
        return settings.learning_rate * min(1.0, step / (settings.warmup_steps + 1))

    def _step_within_memory(
        self, measured: list[ScoredBatch], scale: LossScale, learned: UpdateResult
    ) -> tuple[list[ScoredBatch], list[ObjectiveResult]]:
        """An optimiser step. Where memory doesn't do, it is taken again with each micro-batch halved, once;
        the halves are given back, and later steps are packed so. Raises OutOfMemory.
        """
        try:
            return measured, self._optimiser_step(measured, scale, learned)
        except torch.OutOfMemoryError:
            largest = max(measured, key=lambda each: _count_places(each.batch))
        if self.policy.group.size > 1:
            raise self._explain_memory(largest.batch)
        self.optimiser.zero_grad(set_to_none=True)
        learned.halved.append(str(largest))
        halves = [half for each in measured for half in each.halve()]
        self.token_budget = max(1, self.token_budget // 2)
        try:
            return halves, self._optimiser_step(halves, scale, learned)
        except torch.OutOfMemoryError:
            raise OutOfMemory(
                f"a micro-batch of {largest} doesn't fit into memory, halved neither: {_LESS_MEMORY}",
                _count_places(largest.batch),
            ) from None

    def _explain_memory(self, largest: MicroBatch) -> OutOfMemory:
        """Why a worker of several ends: the others are in the middle of an exchange with it."""
        rank = self.policy.group.rank
        return OutOfMemory(
            f"worker {rank}: a micro-batch of {_describe(largest)} doesn't fit into memory: {_LESS_MEMORY}",
            _count_places(largest),
        )

    def _optimiser_step(
        self, measured: Sequence[ScoredBatch], scale: LossScale, learned: UpdateResult
    ) -> list[ObjectiveResult]:
        """Gradients over the micro-batches, added up; then one step of the optimiser."""
        self.optimiser.zero_grad(set_to_none=True)
        outcomes = []
        for each in measured:
            logprobs, _ = self.policy.score(each.batch, self.config.temperature)
            outcome = self._add_gradients(self._lose(each, logprobs, scale), each.padding)
            if not each.padding:
                outcomes.append(outcome)
        return self._move(outcomes, learned)

    def _lose(self, scored: ScoredBatch, logprobs: Tensor, scale: LossScale) -> ObjectiveResult:
        """The objective of a micro-batch at these log-probabilities."""
        batch = scored.batch
        tokens = SampledTokens(
            logprobs, scored.old, batch.engine, batch.rollout, batch.advantages, scored.reference
        )
        return self.objective(tokens, self.config.loss, scale)

    def _add_gradients(self, outcome: ObjectiveResult, padding: bool) -> ObjectiveResult:
        """Add a loss's gradients to those that there are, padding's as zeros; gives the outcome without its
        graph.
        """
        if self.policy.group.size > 1:
            # FSDP2 takes the mean over the workers, and the losses are shares of one sum.
            (outcome.loss * (0 if padding else self.policy.group.size)).backward()
        else:
            outcome.loss.backward()
        return replace(outcome, loss=outcome.loss.detach())

    def _move(self, outcomes: list[ObjectiveResult], learned: UpdateResult) -> list[ObjectiveResult]:
        """One step of the optimiser by the gradients that were added up."""
        whole = torch.nn.utils.clip_grad_norm_(
            list_parameters(self.optimiser), self.config.optimiser.clip_norm
        )
        norm = float(whole.full_tensor() if isinstance(whole, DTensor) else whole)
        if isfinite(norm):
            self.optimiser.step()
            learned.optimiser_steps += 1
            learned.losses.append(sum(float(outcome.loss) for outcome in outcomes))
            learned.gradient_norm = max(learned.gradient_norm, norm)
        else:
            learned.not_finite += 1
        return outcomes

    def divergence(self, before: Measurement) -> float:
        """KL(π_old ‖ π_θ) per token, estimated on all of the step's sampled tokens: how far the step went."""
        total, tokens = 0.0, 0
        with self.policy.group.together(Call.DIVERGENCE):
            for measured, _ in before.mini_batches:
                for each in measured:
                    logprobs, _ = self._score(self.policy.score, each.batch)
                    if not each.padding:
                        total += float(divergence(each.old, logprobs).sum())
                        tokens += each.old.shape[0]
            nats, count = self.policy.group.add_up([total, tokens])
        return nats / max(count, 1)

    def probe(self, samples: Sequence[Sample]) -> Probe:
        """What the weights say of these rollouts' sequences, for an engine to agree with.

        Each sequence is asked for from its first sampled token on, tool results between turns included, at
        temperature 1: engines score at no other.
        """
        asked = [one for sample in samples for one in sample.sequences.sequences]
        whole = [_sample_from(one, one.sampled[0]) for one in asked]
        said: dict[int, list[float]] = {}
        with self.policy.group.together(Call.PROBE, samples):
            for batch in micro_batches(whole, self.token_budget, self.policy.device, self.policy.sharing):
                with torch.no_grad():
                    values = self.policy.score(batch, 1.0)[0]
                for number, sample in enumerate(batch.samples):
                    said[id(sample)] = values[batch.rollout == number].tolist()
        return Probe(
            [one.token_ids[: one.sampled[0]] for one in asked],
            [one.token_ids[one.sampled[0] :] for one in asked],
            [said[id(sample)] for sample in whole],
        )

    def _score(self, score: Score, batch: MicroBatch) -> tuple[Tensor, Tensor]:
        with torch.no_grad():
            return score(batch, self.config.temperature)


def _sample_from(sequence: TokenSequence, start: int) -> Sample:
    """As if the policy had sampled each token of a sequence from `start` on."""
    places = list(range(start, len(sequence.token_ids)))
    every = TokenSequence(sequence.token_ids, places, [0.0] * len(places), [False] * len(places))
    return Sample(RolloutSequences((every,), 0), 0.0)


def _count_places(batch: MicroBatch) -> int:
    """Padding included."""
    return int(batch.input_ids.numel())


def _describe(batch: MicroBatch) -> str:
    rows, longest = batch.input_ids.shape
    counts = [(batch.advantages.shape[0], "rollout"), (rows, "row")]
    rollouts, rows = (f"{count} {name}{'' if count == 1 else 's'}" for count, name in counts)
    return f"{rollouts} in {rows} of {longest} tokens"


def _effective_share(total: float, squares: float, count: float) -> float:
    """By the sum of the weights, the sum of their squares, and how many there are."""
    if not count:
        return 1.0
    return total**2 / (squares * count) if squares else 0.0


def _list_current(scored: Sequence[ScoredBatch]) -> tuple[list[float], list[float]]:
    """The log-probabilities of tokens that the newest version sampled: by the trainer, by the engine."""
    ours: list[float] = []
    engine: list[float] = []
    for each in scored:
        ours += each.old[each.batch.current].tolist()
        engine += each.batch.engine[each.batch.current].tolist()
    return ours, engine
