"""The objectives against the papers' equations, written out slowly and plainly, one rollout after the
other.
"""

from __future__ import annotations

from math import exp

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from crosswind.trainer.objectives.objective import LossScale, ObjectiveSettings, SampledTokens, resolve
from crosswind.trainer.objectives.terms import divergence

Rollout = tuple[float, list[tuple[float, float, float, float]]]
"""Advantage, and per token log π_θ, log π_old, log π_engine, log π_ref."""

logprob = st.floats(-3.0, -0.01)
rollouts = st.lists(
    st.tuples(
        st.floats(-2.0, 2.0),
        st.lists(st.tuples(logprob, logprob, logprob, logprob), min_size=1, max_size=5),
    ),
    min_size=1,
    max_size=5,
)
settings = st.builds(
    ObjectiveSettings,
    clip_low=st.sampled_from([3e-4, 0.2]),
    clip_high=st.sampled_from([4e-4, 0.28]),
    aggregation=st.sampled_from(["rollout", "token"]),
    kl=st.sampled_from([0.0, 0.04]),
    dual_clip=st.sampled_from([None, 3.0]),
    importance_cap=st.sampled_from([None, 2.0]),
    importance=st.sampled_from([None, "token", "sequence", "mean"]),
)


def clipped_surrogate(ratio: float, advantage: float, chosen: ObjectiveSettings) -> float:
    """Equation 8 of NoisyAgent, with the dual clip of its table 7."""
    bounded = min(max(ratio, 1 - chosen.clip_low), 1 + chosen.clip_high)
    value = min(ratio * advantage, bounded * advantage)
    if chosen.dual_clip is not None and advantage < 0:
        value = max(value, chosen.dual_clip * advantage)
    return value


def weigh(
    tokens: list[tuple[float, float, float, float]], over: str, chosen: ObjectiveSettings
) -> list[float]:
    """Each token's weight min(π_old/π_engine, cap): its own, its rollout's product or geometric mean."""
    if chosen.importance_cap is None:
        return [1.0] * len(tokens)
    drift = [old - engine for _, old, engine, _ in tokens]
    if (chosen.importance or over) == "sequence":
        drift = [sum(drift)] * len(drift)
    elif (chosen.importance or over) == "mean":
        drift = [sum(drift) / len(drift)] * len(drift)
    return [min(exp(each), chosen.importance_cap) for each in drift]


def k3(new: float, reference: float) -> float:
    return exp(reference - new) - (reference - new) - 1


def slow_grpo(drawn: list[Rollout], chosen: ObjectiveSettings) -> float:
    per_rollout, total, count = [], 0.0, 0
    for advantage, tokens in drawn:
        values = [
            clipped_surrogate(exp(new - old), advantage, chosen) * weight - chosen.kl * k3(new, reference)
            for (new, old, _, reference), weight in zip(tokens, weigh(tokens, "token", chosen), strict=True)
        ]
        per_rollout.append(sum(values) / len(values))
        total, count = total + sum(values), count + len(values)
    return -sum(per_rollout) / len(per_rollout) if chosen.aggregation == "rollout" else -total / count


def slow_gspo(drawn: list[Rollout], chosen: ObjectiveSettings) -> float:
    total = weights = 0.0
    for advantage, tokens in drawn:
        length = len(tokens)
        ratio = exp(sum(new - old for new, old, _, _ in tokens) / length)
        value = clipped_surrogate(ratio, advantage, chosen)
        value *= sum(weigh(tokens, "mean", chosen)) / length
        value -= chosen.kl * sum(k3(new, reference) for new, _, _, reference in tokens) / length
        share = 1.0 if chosen.aggregation == "rollout" else length
        total, weights = total + share * value, weights + share
    return -total / weights


def slow_reinforce(drawn: list[Rollout], chosen: ObjectiveSettings) -> float:
    per_rollout, total, count = [], 0.0, 0
    for advantage, tokens in drawn:
        values = [
            new * advantage * weight - chosen.kl * k3(new, reference)
            for (new, _, _, reference), weight in zip(tokens, weigh(tokens, "token", chosen), strict=True)
        ]
        per_rollout.append(sum(values) / len(values))
        total, count = total + sum(values), count + len(values)
    return -sum(per_rollout) / len(per_rollout) if chosen.aggregation == "rollout" else -total / count


def as_tokens(drawn: list[Rollout], chosen: ObjectiveSettings) -> tuple[SampledTokens, LossScale]:
    flat = [(index, *token) for index, (_, tokens) in enumerate(drawn) for token in tokens]
    columns = [torch.tensor(column, dtype=torch.float64) for column in list(zip(*flat, strict=True))[1:]]
    rollout = torch.tensor([row[0] for row in flat])
    advantages = torch.tensor([advantage for advantage, _ in drawn], dtype=torch.float64)
    reference = columns[3] if chosen.kl > 0 else None
    return (
        SampledTokens(columns[0], columns[1], columns[2], rollout, advantages, reference),
        LossScale(len(drawn), len(flat)),
    )


@pytest.mark.parametrize(
    ("name", "slow"), [("grpo", slow_grpo), ("gspo", slow_gspo), ("reinforce", slow_reinforce)]
)
@given(drawn=rollouts, chosen=settings)
def test_the_loss_is_the_equations(
    name: str, slow: object, drawn: list[Rollout], chosen: ObjectiveSettings
) -> None:
    assert callable(slow)
    tokens, scale = as_tokens(drawn, chosen)
    assert float(resolve(name)(tokens, chosen, scale).loss) == pytest.approx(
        slow(drawn, chosen), rel=1e-9, abs=1e-9
    )


def test_grpo_by_hand() -> None:
    """Two rollouts: one token at ratio 1.5 (clipped at 1.2) and ratio 1; one at 0.5 with a negative
    advantage.
    """
    chosen = ObjectiveSettings(clip_low=0.2, clip_high=0.2, importance_cap=None)
    old = torch.tensor([-1.0, -1.0, -1.0], dtype=torch.float64)
    ratio = torch.tensor([1.5, 1.0, 0.5], dtype=torch.float64)
    tokens = SampledTokens(
        old + ratio.log(), old, old, torch.tensor([0, 0, 1]), torch.tensor([1.0, -1.0], dtype=torch.float64)
    )
    outcome = resolve("grpo")(tokens, chosen, LossScale(2, 3))
    assert float(outcome.loss) == pytest.approx(-((1.2 + 1.0) / 2 - 0.8) / 2)
    assert (outcome.clipped, outcome.ratios) == (2, 3)
    token_mean = resolve("grpo")(tokens, chosen.model_copy(update={"aggregation": "token"}), LossScale(2, 3))
    assert float(token_mean.loss) == pytest.approx(-(1.2 + 1.0 - 0.8) / 3)


def test_a_rollout_that_trains_nothing_still_counts_in_the_mean() -> None:
    """1/G keeps G = N: rollouts that were refused are in the scale, not in the tokens."""
    drawn: list[Rollout] = [(1.0, [(-1.0, -1.1, -1.1, 0.0)])]
    chosen = ObjectiveSettings(clip_low=0.2, clip_high=0.2)
    tokens, _ = as_tokens(drawn, chosen)
    alone = float(resolve("gspo")(tokens, chosen, LossScale(1, 1)).loss)
    among_four = float(resolve("gspo")(tokens, chosen, LossScale(4, 9)).loss)
    assert among_four == pytest.approx(alone / 4)


@given(st.floats(-3, 0), st.floats(-3, 0))
def test_the_kl_estimate_is_never_negative_and_zero_only_where_equal(new: float, reference: float) -> None:
    value = float(
        divergence(torch.tensor(new, dtype=torch.float64), torch.tensor(reference, dtype=torch.float64))
    )
    assert value >= 0
    # Taylor's remainder of exp(d) - d - 1, and what rounding may add.
    square, spread = (new - reference) ** 2 / 2, exp(abs(new - reference))
    assert square / spread - 1e-14 <= value <= square * spread + 1e-14
