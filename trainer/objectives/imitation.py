"""The imitation loss: weighted cross-entropy on the next token. Needs no rollouts, so it isn't a registered
objective.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional


@dataclass(frozen=True, slots=True)
class Imitation:
    """The loss of one batch and, for the record, its part on the policy's own tokens."""

    loss: Tensor
    """Scalar with gradient."""
    policy_loss: float
    """Mean negative log-likelihood, in nats, of the policy's tokens; not a number where there are none."""


def imitation(logits: Tensor, targets: Tensor, weights: Tensor) -> Imitation:
    """Mean over tokens, by weight: 1 for the policy's own tokens, less for what it only reads, 0 for padding.

    logits [batch, length, vocabulary], targets and weights [batch, length]: position t predicts targets[:,
    t].
    """
    losses = functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
    flat = weights.flatten()
    own = flat == 1.0
    policy_loss = float(losses.detach()[own].mean()) if bool(own.any()) else float("nan")
    return Imitation(torch.dot(losses, flat) / flat.sum(), policy_loss)
