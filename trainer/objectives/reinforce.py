"""REINFORCE: the log-probability itself, without ratio and without clipping."""

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
)


@objective("reinforce")
def reinforce(tokens: SampledTokens, settings: ObjectiveSettings, scale: LossScale) -> ObjectiveResult:
    """REINFORCE (Williams 1992, eq. 4), with the baseline that the advantages carry (`baseline`).

        loss = -mean_i 1/L_i Σ_t [w_{i,t} Â_i log π_θ - β KL_{i,t}]

    The gradient is exact at the weights that sampled; w is the truncated π_old/π_engine for older ones. It
    doesn't see what an optimiser step has moved since: take each group once (`optimiser.data_reuse` 1).
    """
    rollouts = tokens.advantages.shape[0]
    lengths = rollout_lengths(tokens.rollout, rollouts, tokens.logprobs).clamp(min=1.0)
    weights = importance_weights(tokens, settings, "token")
    value = tokens.logprobs * tokens.advantages[tokens.rollout] * weights
    if tokens.reference is not None:
        value = value - settings.kl * divergence(tokens.logprobs, tokens.reference)
    value = rollout_sum(value, tokens.rollout, rollouts) / lengths
    return ObjectiveResult(-aggregate(value, lengths, settings, scale), 0, 0, weights)
