"""DAPO: GRPO's ratio per token, with the mean over all tokens and a clip range that is wider upwards."""

from __future__ import annotations

from crosswind.trainer.objectives.grpo import grpo
from crosswind.trainer.objectives.objective import (
    LossScale,
    ObjectiveResult,
    ObjectiveSettings,
    SampledTokens,
    objective,
)


@objective("dapo")
def dapo(tokens: SampledTokens, settings: ObjectiveSettings, scale: LossScale) -> ObjectiveResult:
    """Decoupled Clip and Dynamic sAmpling Policy Optimization (Yu et al. 2025, arXiv 2503.14476, eq. 8).

        ρ_{i,t} = π_θ/π_old,   loss = -1/Σ_i L_i Σ_i Σ_t min(ρ_{i,t} Â_i, clip(ρ_{i,t}) Â_i)

    It is GRPO's loss; what is DAPO's are settings: `loss.clip_high` above `clip_low`, `aggregation: token`,
    no KL term, and `refill: groups` for dynamic sampling. NoisyAgent's table 7 aggregates by rollout.
    """
    return grpo(tokens, settings, scale)
