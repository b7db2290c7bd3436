"""The optimiser: AdamW, on float32 copies of weights that are computed with in a lower precision.

bfloat16 holds 8 bits of a number: a step of 1e-6 on a weight of 0.02 is rounded away, and every one after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from crosswind.trainer.config.settings import OptimiserSettings


class MasterAdamW(torch.optim.AdamW):  # type: ignore[misc]
    """AdamW (Loshchilov and Hutter 2019) on float32 master weights (Micikevicius et al. 2018, §3.1).

    The weights' gradients are added up in float32 as backward gives them; after a step the weights are the
    masters, rounded. Its state holds the masters.
    """

    def __init__(self, weights: Sequence[nn.Parameter], **settings: Any) -> None:
        masters = [nn.Parameter(weight.detach().float()) for weight in weights]
        super().__init__(masters, **settings)
        self._pairs = list(zip(weights, masters, strict=True))
        for weight, master in self._pairs:
            weight.register_post_accumulate_grad_hook(partial(_move_gradient, master))

    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        loss: float | None = super().step(closure)
        self._round()
        return loss

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "masters": [master.detach() for _, master in self._pairs]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Raises KeyError where the state is of weights that had no masters."""
        stored = dict(state)
        masters = stored.pop("masters")
        super().load_state_dict(stored)
        with torch.no_grad():
            for (_, master), value in zip(self._pairs, masters, strict=True):
                master.copy_(value)
        self._round()

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def _round(self) -> None:
        for weight, master in self._pairs:
            weight.copy_(master)


def _move_gradient(master: nn.Parameter, weight: Tensor) -> None:
    gradient = weight.grad.float()
    master.grad = gradient if master.grad is None else master.grad + gradient
    weight.grad = None


def make_optimiser(weights: Sequence[nn.Parameter], settings: OptimiserSettings) -> torch.optim.AdamW:
    """AdamW as the settings say, with master weights where these aren't float32."""
    low = any(weight.dtype != torch.float32 for weight in weights)
    return (MasterAdamW if low else torch.optim.AdamW)(
        weights,
        lr=settings.learning_rate,
        betas=(settings.beta1, settings.beta2),
        eps=settings.epsilon,
        weight_decay=settings.weight_decay,
    )


def list_parameters(optimiser: torch.optim.Optimizer) -> list[nn.Parameter]:
    """The parameters that the optimiser moves, in order, with their gradients."""
    return [parameter for group in optimiser.param_groups for parameter in group["params"]]
