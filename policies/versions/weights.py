"""Writing tensors to a safetensors file, so that a full disk is the OSError that it is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file


def save(path: Path, tensors: Mapping[str, torch.Tensor]) -> None:
    """Write the tensors from the CPU, readable for an engine that runs as another user. Raises OSError."""
    flat = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    try:
        save_file(flat, str(path), metadata={"format": "pt"})
    except SafetensorError as error:
        raise OSError(f"{path.name}: {error}") from None
    path.chmod(0o644)
