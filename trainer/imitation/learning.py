"""The warm-up's loop: one pass over a stream of demonstrations, small batches, until the policy's loss is
low.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

import torch

from crosswind.policies.tiny.model import Qwen3
from crosswind.trainer.imitation.examples import Example, batch
from crosswind.trainer.objectives.imitation import imitation


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to learn. Small batches and a high rate: copying clicks after a number of steps, not of tokens."""

    batch: int = 8
    steps: int = 1500
    """The cap, and where the linear decay of the learning rate would end."""
    learning_rate: float = 2e-3
    floor: float = 0.05
    """Share of the learning rate that is left at the cap."""
    betas: tuple[float, float] = (0.9, 0.95)
    weight_decay: float = 0.01
    clip_norm: float = 1.0
    stop_loss: float = 0.01
    """Stop when the policy's loss, smoothed over the last `window` steps, is below."""
    window: int = 50


@dataclass(slots=True)
class Learnt:
    """How it went: the policy's mean loss per token (nats) at each step, and why it ended."""

    losses: list[float] = field(default_factory=list)
    tokens: int = 0
    reached: bool = False
    """Whether the loss fell below the recipe's; else the cap or the demonstrations ended it."""


def learn(
    model: Qwen3,
    examples: Iterable[Example],
    recipe: Recipe,
    pad: int,
    progress: Callable[[int, float], None] = lambda step, loss: None,
) -> Learnt:
    """Train the model in place on the examples in their order. Repeatable on one thread."""
    parameters = list(model.parameters())
    optimiser = torch.optim.AdamW(
        parameters, lr=recipe.learning_rate, betas=recipe.betas, weight_decay=recipe.weight_decay
    )
    learnt = Learnt()
    for step, group in enumerate(islice(_grouped(examples, recipe.batch), recipe.steps)):
        optimiser.param_groups[0]["lr"] = rate(recipe, step)
        shown = batch(group, pad)
        outcome = imitation(model(shown.inputs, shown.prefix), shown.targets, shown.weights)
        optimiser.zero_grad()
        outcome.loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, recipe.clip_norm)
        optimiser.step()
        learnt.losses.append(outcome.policy_loss)
        learnt.tokens += shown.inputs.numel() + len(shown.prefix)
        progress(step, outcome.policy_loss)
        recent = learnt.losses[-recipe.window :]
        if len(recent) == recipe.window and sum(recent) / recipe.window < recipe.stop_loss:
            learnt.reached = True
            break
    return learnt


def rate(recipe: Recipe, step: int) -> float:
    """The learning rate of a step: linear from the whole down to the floor's share at the cap."""
    return recipe.learning_rate * max(recipe.floor, 1.0 - step / recipe.steps)


def _grouped(examples: Iterable[Example], size: int) -> Iterator[list[Example]]:
    stream = iter(examples)
    while group := list(islice(stream, size)):
        yield group
