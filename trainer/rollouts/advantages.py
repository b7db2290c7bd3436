"""Advantages: how much better a rollout did than its like. Pure functions of rewards."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from math import fsum, isclose, sqrt

RELATIVE_TOLERANCE = 1e-6
ABSOLUTE_TOLERANCE = 1e-9
"""Rewards that differ by less are equal: sums of components and means of judges are right up to rounding
only, and a division by their σ would make a full advantage of it.
"""


def are_equal(rewards: Sequence[float]) -> bool:
    """Whether all rewards are equal, up to rounding: nothing distinguishes their rollouts."""
    return len(rewards) < 2 or isclose(
        min(rewards), max(rewards), rel_tol=RELATIVE_TOLERANCE, abs_tol=ABSOLUTE_TOLERANCE
    )


def normalise(rewards: Sequence[float]) -> list[float]:
    """(r - μ) / σ over the rewards (of a whole group: DeepSeekMath §4.1.2, GSPO eq. 6); all 0 where they are
    fewer than two or all equal.

    σ is the population's (divided by n, not n - 1: no paper says which). No ε is added to σ, since σ = 0 is
    handled.
    """
    centred = centre(rewards)
    if not any(centred):
        return centred
    deviation = sqrt(fsum(value * value for value in centred) / len(rewards))
    return [value / deviation for value in centred]


def centre(rewards: Sequence[float]) -> list[float]:
    """r - μ over the rewards: a baseline only, for advantages that are whitened over more than a group
    afterwards.
    """
    if are_equal(rewards):
        return [0.0] * len(rewards)
    mean = fsum(rewards) / len(rewards)
    return [reward - mean for reward in rewards]


def leave_one_out(rewards: Sequence[float]) -> list[float]:
    """Each reward less the mean of the others: n/(n - 1) times what is centred (RLOO, Ahmadian et al. 2024,
    eq. 8; Kool et al. 2019). A reward alone has nothing to be compared with: 0.
    """
    factor = len(rewards) / max(len(rewards) - 1, 1)
    return [factor * value for value in centre(rewards)]


def normalise_per_arm(
    rewards: Sequence[float],
    arms: Sequence[Hashable],
    within: Callable[[Sequence[float]], list[float]] = normalise,
) -> list[float]:
    """NoisyAgent eq. 9: each rollout of a group against the mean and deviation of its own arm, clean or
    noisy.
    """
    if len(rewards) != len(arms):
        raise ValueError(f"per_arm needs an arm for each reward, not {len(arms)} for {len(rewards)} rewards")
    members: dict[Hashable, list[int]] = {}
    for index, arm in enumerate(arms):
        members.setdefault(arm, []).append(index)
    out = [0.0] * len(rewards)
    for indices in members.values():
        for index, value in zip(indices, within([rewards[i] for i in indices]), strict=True):
            out[index] = value
    return out


def whiten(advantages: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
    """Centred rewards of several groups, shifted and scaled to mean 0 and deviation 1 over all of them
    together.

    Over an optimiser step's groups this is NoisyAgent's "batch" normalisation, over the whole training step's
    what we take its undefined "buffer" normalisation to be (table 7). It must not follow eq. 9 or a group's
    own normalisation, after which nothing would be left to do.
    """
    flat = iter(normalise([value for values in advantages.values() for value in values]))
    return {group: [next(flat) for _ in values] for group, values in advantages.items()}
