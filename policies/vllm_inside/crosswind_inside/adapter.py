"""Checks a LoRA adapter against the model that is served, before vLLM is given it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from . import checkpoint
from .checkpoint import check_finite, check_metadata, read_json
from .header import FLOATS, Refused, Tensor, read_header

CONFIG = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"
_PREFIX = "base_model.model."


def check_adapter(directory: Path, base: Path, version: str, highest_rank: int) -> None:
    """Every pair of matrices must fit the base's. Raises Refused naming the file or tensor."""
    check_metadata(directory, version, (CONFIG, WEIGHTS))
    rank = read_json(directory / CONFIG).get("r")
    if not isinstance(rank, int) or not 1 <= rank <= highest_rank:
        raise Refused(
            f"{directory}: its rank is {rank}, this engine takes 1 to {highest_rank}; "
            "start it with a higher --max-lora-rank"
        )
    path = directory / WEIGHTS
    tensors, served = read_header(path), read_header(base / checkpoint.WEIGHTS)
    if not tensors:
        raise Refused(f"{path}: holds no tensors; write the adapter again")
    for name, tensor in tensors.items():
        _check_tensor(path, name, tensor, served, rank)
        other = name.replace(".lora_A.", ".lora_B.") if ".lora_A." in name else name.replace("_B.", "_A.")
        if other not in tensors:
            raise Refused(f"{path}: {other} is missing; write the adapter again")
    check_finite(path, tensors)


def _check_tensor(path: Path, name: str, tensor: Tensor, served: Mapping[str, Tensor], rank: int) -> None:
    module, _, half = name.removeprefix(_PREFIX).rpartition(".lora_")
    target = served.get(f"{module}.weight")
    if half not in ("A.weight", "B.weight") or target is None:
        raise Refused(f"{path}: {name} belongs to nothing in the served model; start an engine for its base")
    rows, columns = target.shape
    wanted = (rank, columns) if half == "A.weight" else (rows, rank)
    if tensor.shape != wanted:
        raise Refused(f"{path}: {name} has shape {tensor.shape}, must have {wanted}")
    if tensor.dtype not in FLOATS:
        raise Refused(f"{path}: {name} has dtype {tensor.dtype}, must be a float")


def silence(adapter: Path, into: Path) -> None:
    """Write the adapter that adds nothing, in this one's place and shapes."""
    tensors = load_file(str(adapter / WEIGHTS))
    save_file({name: torch.zeros_like(tensor) for name, tensor in tensors.items()}, str(into / WEIGHTS))
    shutil.copyfile(adapter / CONFIG, into / CONFIG)
