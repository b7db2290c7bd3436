"""A training step's figures, as they go into its row, its checkpoint and its progress line."""

from __future__ import annotations

from typing import Any

from crosswind.policies.deployment.deployment import DeployedVersion
from crosswind.trainer.learning.learner import Before, Learned
from crosswind.trainer.rollouts.assembly import Material, refusals
from crosswind.trainer.rollouts.source import Taken


def counts(taken: Taken, material: Material, before: Before, group_size: int) -> dict[str, Any]:
    """What the step took and what of it could train: in groups, rollouts and tokens."""
    rollouts = [rollout for group in taken.groups for rollout in group.rollouts]
    return {
        "groups": len(taken.groups),
        "filtered_groups": material.filtered_groups,
        "dropped_groups": dict(taken.reasons),
        "other_sized_groups": sum(
            len(group.rollouts) + len(group.left_out) != group_size for group in taken.groups
        ),
        "flat_arms": material.flat_arms,
        "rollouts": len(rollouts),
        "trained_rollouts": len(material.samples),
        "refused": refusals(taken.groups, material),
        "splits": material.splits,
        "tokens": before.tokens,
        "staleness": max((rollout.staleness for rollout in rollouts), default=0),
    }


def figures(learned: Learned, before: Before, moved: float) -> dict[str, Any]:
    """What the optimiser's steps came to. `moved`: how far, in nats per token (`Learner.divergence`)."""
    return {
        "loss": learned.loss,
        "kl": moved,
        "clip_share": learned.clip_share,
        "gradient_norm": learned.gradient_norm,
        "optimiser_steps": learned.optimiser_steps,
        "not_finite": learned.not_finite,
        "entropy": before.entropy,
        "engine_gap": before.engine_gap,
        "drift": before.drift,
    }


def publication_figures(publication: DeployedVersion | None) -> dict[str, Any]:
    """How the version got into service; nothing where it wasn't published."""
    if publication is None:
        return {}
    return {
        "swap_ms": publication.swap_ms,
        "confirmed_difference": publication.max_difference,
        "confirmed_tokens": publication.tokens,
    }
