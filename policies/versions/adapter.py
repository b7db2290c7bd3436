"""LoRA adapters in PEFT's file format: reading, checking, and putting one on its base's weights.

W' = W + (α / r) · B A, per adapted linear layer (Hu et al. 2021, arXiv 2106.09685, §4.1); α / √r with rsLoRA.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import orjson
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from crosswind.policies.versions.version import VersionError
from crosswind.policies.versions.weights import save

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
_PREFIX = "base_model.model."


@dataclass(frozen=True, slots=True)
class Adapter:
    """Low-rank changes of linear layers, by the layer's name in the base model."""

    rank: int
    alpha: float
    down: Mapping[str, torch.Tensor]
    """A: [rank, in]."""
    up: Mapping[str, torch.Tensor]
    """B: [out, rank]."""
    rank_stabilised: bool = False

    @property
    def scale(self) -> float:
        return self.alpha / (self.rank**0.5 if self.rank_stabilised else self.rank)

    def changes(self) -> Iterator[tuple[str, torch.Tensor]]:
        """What is added to each layer's weight [out, in], by the layer's name."""
        for name, down in self.down.items():
            yield name, self.scale * self.up[name].float() @ down.float()

    def merge_into(self, weights: Mapping[str, torch.Tensor]) -> None:
        """Add the changes to a model's weights, in place. Raises VersionError where it hasn't such layers."""
        with torch.no_grad():
            for name, change in self.changes():
                weight = weights.get(f"{name}.weight")
                if weight is None or weight.shape != change.shape:
                    found = "no such layer" if weight is None else f"shape {tuple(weight.shape)}"
                    raise VersionError(
                        f"the adapter changes {name} by {tuple(change.shape)}, its base has {found}: "
                        "it was made on another model"
                    )
                weight.add_(change.to(weight.dtype))

    def write(self, directory: Path, base: str) -> None:
        """Write it as PEFT would; `base` is the base's name, for people."""
        targets = sorted({name.rpartition(".")[2] for name in self.down})
        config = {
            "peft_type": "LORA",
            "task_type": "CAUSAL_LM",
            "base_model_name_or_path": base,
            "r": self.rank,
            "lora_alpha": self.alpha,
            "lora_dropout": 0.0,
            "target_modules": targets,
            "bias": "none",
            "fan_in_fan_out": False,
            "inference_mode": True,
            "use_rslora": self.rank_stabilised,
            "modules_to_save": None,
        }
        (directory / CONFIG).write_bytes(orjson.dumps(config, option=orjson.OPT_INDENT_2))
        tensors = {f"{_PREFIX}{name}.lora_A.weight": value for name, value in self.down.items()}
        tensors |= {f"{_PREFIX}{name}.lora_B.weight": value for name, value in self.up.items()}
        save(directory / WEIGHTS, tensors)


def read_adapter(directory: Path) -> Adapter:
    """Read and check an adapter's directory. Raises VersionError naming the file, the field and the value."""
    try:
        config = orjson.loads((directory / CONFIG).read_bytes())
        tensors = load_file(str(directory / WEIGHTS))
    except (OSError, ValueError, SafetensorError) as error:
        raise VersionError(f"{directory}: the adapter can't be read ({error})") from None
    for name, wanted in (("peft_type", "LORA"), ("bias", "none"), ("use_dora", False), ("rank_pattern", {})):
        if (config.get(name) or wanted) != wanted:
            raise VersionError(f"{directory / CONFIG}: {name} is {config[name]!r}, only {wanted!r} is known")
    rank, alpha = config.get("r"), config.get("lora_alpha")
    if not isinstance(rank, int) or rank < 1 or not isinstance(alpha, int | float):
        raise VersionError(f"{directory / CONFIG}: r is {rank!r} and lora_alpha {alpha!r}: both are numbers")
    down, up = (
        {
            name.removeprefix(_PREFIX).removesuffix(end): value
            for name, value in tensors.items()
            if name.startswith(_PREFIX) and name.endswith(end)
        }
        for end in (".lora_A.weight", ".lora_B.weight")
    )
    if not down or down.keys() != up.keys() or len(down) + len(up) != len(tensors):
        raise VersionError(f"{directory / WEIGHTS}: not pairs of lora_A and lora_B: {sorted(tensors)[:3]}")
    for name in down:
        if down[name].shape[0] != rank or up[name].shape[1] != rank:
            raise VersionError(f"{directory / WEIGHTS}: {name} isn't of rank {rank}")
        if not (bool(down[name].isfinite().all()) and bool(up[name].isfinite().all())):
            raise VersionError(f"{directory / WEIGHTS}: {name} holds values that are not finite")
    return Adapter(rank, float(alpha), down, up, bool(config.get("use_rslora")))
