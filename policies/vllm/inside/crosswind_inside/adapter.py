"""Checks a LoRA adapter against the model that is served, before vLLM is given it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from .checkpoint import METADATA, Refused, Weights, check_finite, checksum, read_json

CONFIG = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"
_PREFIX = "base_model.model."


def check_adapter(directory: Path, base: Path, version: str, highest_rank: int) -> None:
    """Every pair of matrices must fit the base's. Raises Refused naming the file or tensor."""
    metadata = read_json(directory / METADATA)
    if metadata.get("version") != version:
        raise Refused(f"{directory}: holds version {metadata.get('version')!r}, not {version!r}")
    found, wanted = checksum(directory, (CONFIG, WEIGHTS)), str(metadata.get("checksum"))
    if found != wanted:
        raise Refused(
            f"{directory}: checksum is {found[:16]}…, {METADATA} says {wanted[:16]!r}…: "
            "the files were changed after they were published; publish them as a new version"
        )
    rank = read_json(directory / CONFIG).get("r")
    if not isinstance(rank, int) or not 1 <= rank <= highest_rank:
        raise Refused(
            f"{directory}: its rank is {rank}, this engine takes 1 to {highest_rank}; "
            "start it with a higher --max-lora-rank"
        )
    path = directory / WEIGHTS
    try:
        adapter = safe_open(str(path), framework="pt")
    except (OSError, SafetensorError) as error:
        raise Refused(f"{path}: can't be read as safetensors ({error})") from None
    served = Weights(base)
    names = set(adapter.keys())
    if not names:
        raise Refused(f"{path}: holds no tensors")
    for name in sorted(names):
        _check_tensor(path, name, adapter, served, rank)
        other = name.replace(".lora_A.", ".lora_B.") if ".lora_A." in name else name.replace("_B.", "_A.")
        if other not in names:
            raise Refused(f"{path}: {other} is missing; write the adapter anew")


def _check_tensor(path: Path, name: str, adapter: Any, served: Weights, rank: Any) -> None:
    module, _, half = name.removeprefix(_PREFIX).rpartition(".lora_")
    target = f"{module}.weight"
    if half not in ("A.weight", "B.weight") or target not in served.names:
        raise Refused(f"{path}: {name} belongs to nothing in the served model; start an engine for its base")
    rows, columns = served.file.get_slice(target).get_shape()
    tensor = adapter.get_tensor(name)
    wanted = (rank, columns) if half == "A.weight" else (rows, rank)
    if tuple(tensor.shape) != wanted:
        raise Refused(f"{path}: {name} has shape {tuple(tensor.shape)}, must have {wanted}")
    check_finite(path, name, tensor)


def silence(adapter: Path, into: Path) -> None:
    """Write the adapter that adds nothing, in this one's place and shapes."""
    file = safe_open(str(adapter / WEIGHTS), framework="pt")
    tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  it isn't a mapping
    save_file({name: torch.zeros_like(tensor) for name, tensor in tensors.items()}, str(into / WEIGHTS))
    shutil.copyfile(adapter / CONFIG, into / CONFIG)
