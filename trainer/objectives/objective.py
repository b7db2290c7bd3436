"""What an objective is: a pure function of sampled tokens, found by a registry.

An objective is a function decorated with `@objective(name)`. Files of this package are found by walking it; a
third party's package names a module under the entry-point group `crosswind.objectives`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field

from crosswind.trainer.errors import RunRefused
from crosswind.trainer.registry import Registry

if TYPE_CHECKING:
    # Settings are read, and refused, without waiting for torch.
    from torch import Tensor

Importance = Literal["token", "sequence", "mean"]


class UnknownObjective(RunRefused):
    """No objective of that name; the message names the nearest."""


@dataclass(frozen=True, slots=True)
class SampledTokens:
    """The sampled tokens of R whole rollouts, flat: a rollout's tokens may come from several sequences."""

    logprobs: Tensor
    """[N] float: log π_θ of each sampled token. The only tensor that carries a gradient."""
    old: Tensor
    """[N] float: log π_old, by the trainer's own weights before the step."""
    engine: Tensor
    """[N] float: as the engine recorded it while sampling."""
    rollout: Tensor
    """[N] int64 in [0, R): the rollout that each token belongs to."""
    advantages: Tensor
    """[R] float."""
    reference: Tensor | None = None
    """[N] float: log π_ref, where the KL term is on."""


@dataclass(frozen=True, slots=True)
class LossScale:
    """What the whole optimiser step averages over: every rollout of its groups and all their sampled tokens,
    those of rollouts and groups that contribute nothing included (NoisyAgent, eq. 7: 1/G keeps G = N).
    """

    rollouts: int
    tokens: int


class ObjectiveSettings(BaseModel):
    """What the objectives can be told."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    clip_low: float = Field(gt=0, lt=1)
    clip_high: float = Field(gt=0)
    """The ratio is clipped to [1 - clip_low, 1 + clip_high]."""
    aggregation: Literal["rollout", "token"] = "rollout"
    """`rollout`: mean over a rollout's tokens, then over rollouts. `token`: mean over all tokens of the
    step.
    """
    kl: float = Field(default=0.0, ge=0)
    """β, the weight of the KL term to the reference policy; 0: none."""
    dual_clip: float | None = Field(default=None, gt=1)
    """c > 1: where the advantage is negative, the surrogate is at least c times the advantage; None: off."""
    importance_cap: float | None = Field(default=2.0, gt=0)
    """Truncation of the weight π_old / π_engine; None: no such weight."""
    importance: Importance | None = None
    """What that weight is taken over. `token`: each token has its own. `sequence`: the product over a
    rollout's tokens. `mean`: their geometric mean. None: the objective's own, `token` for GRPO, DAPO and
    REINFORCE, `mean` for GSPO.
    """


@dataclass(frozen=True, slots=True)
class ObjectiveResult:
    """The loss of one micro-batch and what was seen on the way, as sums, so that micro-batches can be added
    up.
    """

    loss: Tensor
    """Scalar with gradient: this micro-batch's share of the step's loss. Shares add up to the loss."""
    clipped: int
    """How many ratios had no gradient since they were clipped."""
    ratios: int
    """How many ratios there were; 0: the objective has none."""
    weights: Tensor | None = None
    """[N], without gradient: each token's importance weight as it was used; None: the objective has none."""


Objective = Callable[[SampledTokens, ObjectiveSettings, LossScale], ObjectiveResult]
_registry: Registry[Objective] = Registry(
    "objective", "crosswind.trainer.objectives", "crosswind.objectives", UnknownObjective, "objective"
)


def objective(name: str) -> Callable[[Objective], Objective]:
    """Register the decorated function under its public name. A second objective of one name is an error."""

    def register(function: Objective) -> Objective:
        _registry.register(name, function)
        return function

    return register


def objectives() -> dict[str, Objective]:
    """All objectives by name: those of this package and those of installed packages."""
    return _registry.load()


def resolve(name: str) -> Objective:
    """The objective of that name. Raises UnknownObjective, naming the nearest."""
    return _registry.resolve(name)
