"""The terms that policy-gradient objectives share. Pure functions of tensors."""

from __future__ import annotations

import torch
from torch import Tensor

from crosswind.trainer.objectives.objective import Importance, LossScale, ObjectiveSettings, SampledTokens


def surrogate(ratio: Tensor, advantage: Tensor, settings: ObjectiveSettings) -> tuple[Tensor, Tensor]:
    """min(ρ·Â, clip(ρ, 1 - low, 1 + high)·Â), and where it has no gradient. Elementwise, any shape.

    NoisyAgent eq. 8, DeepSeekMath eq. 3, GSPO eq. 5. With `dual_clip` = c the value is at least c·Â where Â <
    0 (Ye et al. 2020, "dual-clip PPO"; NoisyAgent's table 7 lists c, its equations don't show it).
    """
    bounded = ratio.clamp(1.0 - settings.clip_low, 1.0 + settings.clip_high)
    value = torch.minimum(ratio * advantage, bounded * advantage)
    clipped = ((advantage > 0) & (ratio > 1.0 + settings.clip_high)) | (
        (advantage < 0) & (ratio < 1.0 - settings.clip_low)
    )
    if settings.dual_clip is not None:
        floor = settings.dual_clip * advantage
        below = (advantage < 0) & (value < floor)
        value = torch.where(below, floor, value)
        clipped = clipped | below
    return value, clipped


def divergence(logprobs: Tensor, reference: Tensor) -> Tensor:
    """KL(π_θ ‖ π_ref) per token, estimated on tokens that π_θ sampled: π_ref/π_θ - log(π_ref/π_θ) - 1 ≥ 0.

    DeepSeekMath eq. 4 (Schulman's k3).
    """
    gap = reference - logprobs
    return gap.exp() - gap - 1.0


def importance_weights(tokens: SampledTokens, settings: ObjectiveSettings, own: Importance) -> Tensor:
    """min(π_old/π_engine, cap) for each token, without gradient: what corrects for tokens that another policy
    sampled. [N]. `own` is what the objective takes the weight over where the settings don't say.

    Truncated importance sampling (Ionides 2008), here between the engine that sampled and the trainer's
    π_old. By `sequence` the weight is unbiased and spreads with the length; `mean` and `token` are biased and
    stay near 1.
    """
    log_weight = (tokens.old - tokens.engine).detach()
    over = settings.importance or own
    if over != "token":
        rollouts = tokens.advantages.shape[0]
        total = rollout_sum(log_weight, tokens.rollout, rollouts)
        if over == "mean":
            total = total / rollout_lengths(tokens.rollout, rollouts, total).clamp(min=1.0)
        log_weight = total[tokens.rollout]
    if settings.importance_cap is None:
        return torch.ones_like(log_weight)
    return log_weight.exp().clamp(max=settings.importance_cap)


def rollout_sum(values: Tensor, rollout: Tensor, rollouts: int) -> Tensor:
    """[N] values summed over each rollout's tokens: [R]."""
    return values.new_zeros(rollouts).index_add(0, rollout, values)


def rollout_lengths(rollout: Tensor, rollouts: int, like: Tensor) -> Tensor:
    """Sampled tokens per rollout, as floats of `like`'s kind: [R]."""
    return rollout_sum(torch.ones_like(rollout, dtype=like.dtype), rollout, rollouts)


def aggregate(values: Tensor, lengths: Tensor, settings: ObjectiveSettings, scale: LossScale) -> Tensor:
    """Per-rollout token means [R] of this micro-batch as its share of the step's mean.

    `rollout`: each rollout weighs the same, 1/G Σ_i (NoisyAgent eq. 7). `token`: each token does, Σ_i L_i / Σ
    L.
    """
    if settings.aggregation == "rollout":
        return values.sum() / scale.rollouts
    return (values * lengths).sum() / scale.tokens
