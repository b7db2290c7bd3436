"""GSPO: one ratio per rollout."""

from __future__ import annotations

from torch import Tensor

from crosswind.trainer.objectives.objective import (
    LossScale,
    ObjectiveResult,
    ObjectiveSettings,
    SampledTokens,
    objective,
)
from crosswind.trainer.objectives.terms import (
    aggregate,
    divergence,
    importance_weights,
    rollout_lengths,
    rollout_sum,
    surrogate,
)


@objective("gspo")
def gspo(tokens: SampledTokens, settings: ObjectiveSettings, scale: LossScale) -> ObjectiveResult:
    """Group Sequence Policy Optimization (Zheng et al. 2025, eq. 5 and 7).

        s_i = exp(1/|y_i| Σ_t log π_θ/π_old),   loss = -mean_i min(s_i Â_i, clip(s_i) Â_i)

    y_i is *all* that the policy sampled in rollout i, over all its turns, whether they merged into one
    sequence or not. NoisyAgent's own method puts s_i in the place of ρ_{k,t} in its eq. 8 and keeps the
    aggregation of its eq. 7; since s_i is the same for each token of a rollout, that mean over tokens is
    s_i's own term. Rollouts of an older policy are weighted by min(exp(1/|y_i| Σ_t log π_old/π_engine), cap),
    normalised as s_i is, which is nearly 1 whatever the drift; `importance: sequence` is the product.
    """
    rollouts = tokens.advantages.shape[0]
    lengths = rollout_lengths(tokens.rollout, rollouts, tokens.logprobs).clamp(min=1.0)

    def mean(values: Tensor) -> Tensor:
        return rollout_sum(values, tokens.rollout, rollouts) / lengths

    ratio = mean(tokens.logprobs - tokens.old).exp()
    value, clipped = surrogate(ratio, tokens.advantages, settings)
    weights = importance_weights(tokens, settings, "mean")
    value = value * mean(weights)
    if tokens.reference is not None:
        value = value - settings.kl * mean(divergence(tokens.logprobs, tokens.reference))
    loss = -aggregate(value, lengths, settings, scale)
    return ObjectiveResult(loss, int(clipped.sum()), clipped.numel(), weights)
