"""GRPO: one ratio per token."""

from __future__ import annotations

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


@objective("grpo")
def grpo(tokens: SampledTokens, settings: ObjectiveSettings, scale: LossScale) -> ObjectiveResult:
    """Group Relative Policy Optimization (DeepSeekMath, Shao et al. 2024, eq. 3; NoisyAgent eq. 2, 7 and 8).

        ρ_{i,t} = π_θ/π_old,   loss = -mean_i 1/L_i Σ_t [min(ρ_{i,t} Â_i, clip(ρ_{i,t}) Â_i) - β KL_{i,t}]

    With aggregation `token` the mean runs over all tokens of the step (NoisyAgent's table 7; DeepSeekMath
    prints the one above). Each token is weighted by min(π_old/π_engine, cap), unless `importance` says
    otherwise.
    """
    rollouts = tokens.advantages.shape[0]
    lengths = rollout_lengths(tokens.rollout, rollouts, tokens.logprobs).clamp(min=1.0)
    ratio = (tokens.logprobs - tokens.old).exp()
    value, clipped = surrogate(ratio, tokens.advantages[tokens.rollout], settings)
    weights = importance_weights(tokens, settings, "token")
    value = value * weights
    if tokens.reference is not None:
        value = value - settings.kl * divergence(tokens.logprobs, tokens.reference)
    value = rollout_sum(value, tokens.rollout, rollouts) / lengths
    loss = -aggregate(value, lengths, settings, scale)
    return ObjectiveResult(loss, int(clipped.sum()), clipped.numel(), weights)
