"""Training low-rank adapters instead of all weights (Hu et al. 2021, arXiv 2106.09685), exported as PEFT
writes them: an engine loads one in milliseconds, and its base stays what it is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from crosswind.policies.versions.adapter import WEIGHTS, Adapter, read_adapter
from crosswind.policies.versions.version import PolicyVersion, VersionError
from crosswind.trainer.config.settings import LoraSettings
from crosswind.trainer.learning.model import ModelError, Policy
from crosswind.trainer.learning.sharding import divide_like, make_whole
from crosswind.trainer.learning.worker_group import Call
from crosswind.trainer.rollouts.batches import MicroBatch


class AdaptedLinear(nn.Module):  # type: ignore[misc]
    """A frozen linear layer and what is learnt beside it: y = W x + (α / r) B A x (eq. 3)."""

    def __init__(self, frozen: nn.Linear, settings: LoraSettings, generator: torch.Generator) -> None:
        super().__init__()
        self.frozen = frozen
        self.on = True
        self.scale = settings.alpha / settings.rank
        weight = frozen.weight
        # A as nn.Linear would begin it, B zero: the adapter begins as nothing (§4.1).
        bound = frozen.in_features**-0.5
        drawn = torch.rand(settings.rank, frozen.in_features, generator=generator) * 2 * bound - bound
        self.down = nn.Parameter(drawn.to(weight))
        self.up = nn.Parameter(weight.new_zeros(frozen.out_features, settings.rank))

    def forward(self, inputs: Tensor) -> Tensor:
        added = functional.linear(functional.linear(inputs, self.down), self.up)
        frozen: Tensor = self.frozen(inputs)
        return frozen + self.scale * added if self.on else frozen


class AdapterPolicy(Policy):
    """A policy of which only adapters are trained. Its weights file is the adapter's."""

    weights_file = WEIGHTS

    def __init__(self, policy: Policy, base: PolicyVersion, settings: LoraSettings, seed: int) -> None:
        """Put adapters on the policy's layers, in place. Raises ModelError where it has no such layers."""
        super().__init__(policy.module, policy.source, policy.files, policy.device)
        self.base = base
        self._base_name = base.version
        self.settings = settings
        for parameter in self.module.parameters():
            parameter.requires_grad_(False)
        generator = torch.Generator().manual_seed(seed)
        self._layers: dict[str, AdaptedLinear] = {}
        for name, layer in list(self.module.named_modules()):
            parent, _, last = name.rpartition(".")
            if last in settings.targets and isinstance(layer, nn.Linear):
                self._layers[name] = AdaptedLinear(layer, settings, generator).to(policy.device)
                setattr(self.module.get_submodule(parent), last, self._layers[name])
        if not self._layers:
            wanted = ", ".join(settings.targets)
            raise ModelError(f"lora.targets: {policy.source} has no linear layer named {wanted}")

    def score_base(self, batch: MicroBatch, temperature: float) -> tuple[Tensor, Tensor]:
        """What `score` gives with the adapters off: the reference policy, without a second model."""
        self._switch(on=False)
        try:
            return self.score(batch, temperature)
        finally:
            self._switch(on=True)

    def _switch(self, *, on: bool) -> None:
        for layer in self._layers.values():
            layer.on = on

    def tensors(self) -> dict[str, Tensor]:
        """The adapters' matrices by name, on the CPU; whole at rank 0."""
        with self.group.together(Call.WEIGHTS):
            return {
                f"{name}.{half}": make_whole(getattr(layer, half).detach(), self.group).cpu().contiguous()
                for name, layer in self._layers.items()
                for half in ("down", "up")
            }

    def restore(self, weights: Path) -> None:
        """Take the matrices of an adapter that `write` made."""
        adapter = self._read(weights)
        if adapter.down.keys() != self._layers.keys() or adapter.rank != self.settings.rank:
            raise ModelError(
                f"policy: {weights} holds another adapter than lora.* asks for; begin with --fresh"
            )
        with torch.no_grad():
            for name, layer in self._layers.items():
                layer.down.copy_(divide_like(adapter.down[name], layer.down))
                layer.up.copy_(divide_like(adapter.up[name], layer.up))

    def equals(self, weights: Path) -> bool:
        """Whether a file holds exactly this adapter."""
        adapter, own = self._read(weights), self.tensors()
        halves: dict[str, Any] = {f"{name}.down": value for name, value in adapter.down.items()}
        halves |= {f"{name}.up": value for name, value in adapter.up.items()}
        return halves.keys() == own.keys() and all(torch.equal(own[name], halves[name]) for name in own)

    def write(self, directory: Path) -> None:
        """Fill a directory as PEFT would."""
        whole = self.tensors()
        down, up = ({name: whole[f"{name}.{half}"] for name in self._layers} for half in ("down", "up"))
        Adapter(self.settings.rank, self.settings.alpha, down, up).write(directory, self._base_name)

    def _read(self, weights: Path) -> Adapter:
        try:
            return read_adapter(weights.parent)
        except VersionError as error:
            raise ModelError(str(error)) from None
