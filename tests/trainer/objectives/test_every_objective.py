"""The contract of an objective, run over every registered one."""

from __future__ import annotations

import random

import pytest
import torch

from crosswind.trainer.objectives.objective import (
    LossScale,
    ObjectiveSettings,
    SampledTokens,
    UnknownObjective,
    objectives,
    resolve,
)

NAMES = sorted(objectives())
CLIPPED = [name for name in NAMES if name != "reinforce"]
SETTINGS = ObjectiveSettings(clip_low=0.2, clip_high=0.28)


def tokens(seed: int = 0, *, lengths: tuple[int, ...] = (3, 1, 5), move: float = 0.05) -> SampledTokens:
    """Rollouts of the given numbers of tokens, in double precision, with ratios inside the clip range."""
    torch.manual_seed(seed)
    count = sum(lengths)
    old = -torch.rand(count, dtype=torch.float64) - 0.1
    return SampledTokens(
        logprobs=(old + move * torch.randn(count, dtype=torch.float64)).requires_grad_(),
        old=old,
        engine=old + 0.01 * torch.randn(count, dtype=torch.float64),
        rollout=torch.tensor([index for index, length in enumerate(lengths) for _ in range(length)]),
        advantages=torch.tensor([1.5, -0.5, -1.0], dtype=torch.float64)[: len(lengths)],
    )


def scale(one: SampledTokens, rollouts: int | None = None) -> LossScale:
    return LossScale(rollouts or one.advantages.shape[0], one.rollout.shape[0])


def loss_and_gradient(
    name: str, one: SampledTokens, settings: ObjectiveSettings = SETTINGS
) -> tuple[float, torch.Tensor]:
    outcome = resolve(name)(one, settings, scale(one))
    (gradient,) = torch.autograd.grad(outcome.loss, one.logprobs)
    return float(outcome.loss.detach()), gradient


@pytest.mark.parametrize("name", NAMES)
def test_the_loss_is_a_scalar_and_its_gradient_is_right(name: str) -> None:
    one = tokens()

    def loss(logprobs: torch.Tensor) -> torch.Tensor:
        moved = SampledTokens(logprobs, one.old, one.engine, one.rollout, one.advantages)
        return resolve(name)(moved, SETTINGS, scale(one)).loss

    assert loss(one.logprobs).shape == ()
    assert torch.autograd.gradcheck(loss, (one.logprobs,))


@pytest.mark.parametrize("name", NAMES)
def test_a_step_down_the_gradient_raises_good_tokens_and_lowers_bad_ones(name: str) -> None:
    one = tokens(move=0.0)
    _, gradient = loss_and_gradient(name, one)
    assert torch.equal(torch.sign(gradient), -torch.sign(one.advantages[one.rollout]))


@pytest.mark.parametrize("name", NAMES)
def test_no_advantage_no_gradient(name: str) -> None:
    one = tokens()
    still = SampledTokens(one.logprobs, one.old, one.engine, one.rollout, torch.zeros_like(one.advantages))
    loss, gradient = loss_and_gradient(name, still)
    assert loss == 0.0
    assert not gradient.any()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("aggregation", ["rollout", "token"])
def test_the_order_of_a_rollouts_tokens_and_their_sequences_makes_no_difference(
    name: str, aggregation: str
) -> None:
    """Tokens carry their rollout; whether they came as one sequence or as several can't be seen."""
    settings = SETTINGS.model_copy(update={"aggregation": aggregation})
    one = tokens()
    order = list(range(one.rollout.shape[0]))
    random.Random(1).shuffle(order)
    mixed = SampledTokens(
        one.logprobs.detach()[order].requires_grad_(),
        one.old[order],
        one.engine[order],
        one.rollout[order],
        one.advantages,
    )
    loss, gradient = loss_and_gradient(name, one, settings)
    mixed_loss, mixed_gradient = loss_and_gradient(name, mixed, settings)
    assert mixed_loss == pytest.approx(loss, rel=1e-12)
    assert torch.allclose(mixed_gradient, gradient[order], rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("aggregation", ["rollout", "token"])
def test_micro_batches_add_up_to_the_whole(name: str, aggregation: str) -> None:
    settings = SETTINGS.model_copy(update={"aggregation": aggregation, "kl": 0.1})
    one = tokens()
    reference = one.old - 0.02
    whole = SampledTokens(one.logprobs, one.old, one.engine, one.rollout, one.advantages, reference)
    parts = []
    for keep in ([0], [1, 2]):
        mask = torch.tensor([int(index) in keep for index in one.rollout])
        parts.append(
            SampledTokens(
                one.logprobs[mask],
                one.old[mask],
                one.engine[mask],
                one.rollout[mask] - keep[0],
                one.advantages[keep],
                reference[mask],
            )
        )
    outcomes = [resolve(name)(part, settings, scale(one)) for part in parts]
    together = resolve(name)(whole, settings, scale(one))
    assert float(sum(outcome.loss.detach() for outcome in outcomes)) == pytest.approx(
        float(together.loss.detach()), rel=1e-12
    )
    assert sum(outcome.ratios for outcome in outcomes) == together.ratios


@pytest.mark.parametrize("name", CLIPPED)
def test_all_clipped_means_no_gradient(name: str) -> None:
    one = tokens()
    far = torch.where(one.advantages[one.rollout] > 0, 1.0, -1.0)
    moved = SampledTokens((one.old + far).requires_grad_(), one.old, one.engine, one.rollout, one.advantages)
    outcome = resolve(name)(moved, SETTINGS, scale(one))
    (gradient,) = torch.autograd.grad(outcome.loss, moved.logprobs)
    assert not gradient.any()
    assert outcome.clipped == outcome.ratios > 0


@pytest.mark.parametrize("name", NAMES)
def test_the_kl_term_pulls_towards_the_reference(name: str) -> None:
    settings = SETTINGS.model_copy(update={"kl": 0.5})
    one = tokens()
    pulled = SampledTokens(
        one.logprobs,
        one.old,
        one.engine,
        one.rollout,
        torch.zeros_like(one.advantages),
        one.logprobs.detach() + 0.3,
    )
    loss, gradient = loss_and_gradient(name, pulled, settings)
    assert loss > 0
    assert (gradient < 0).all(), "a step down the gradient raises log π_θ towards log π_ref"


def test_an_unknown_name_gets_the_nearest_one() -> None:
    with pytest.raises(UnknownObjective, match=r"no 'gsop'; the nearest is 'gspo'"):
        resolve("gsop")
