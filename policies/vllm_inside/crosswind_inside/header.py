"""What a safetensors file holds, read with the standard library: names, shapes and whether it is complete."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

EMBEDDINGS = "model.embed_tokens.weight"
FLOATS = ("F64", "F32", "F16", "BF16")

_LENGTH = 8
"""Bytes before the header, that say how long it is."""
_LONGEST = 100_000_000
HEAD = "lm_head.weight"
"""Stored a second time by some writers where embeddings are tied."""


class Refused(Exception):
    """A version can't be served in the place of what is. Names the file or tensor, and the fix."""


@dataclass(frozen=True)
class Tensor:
    """One tensor's dtype, as safetensors names it, its shape, and where in the file its bytes are."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int


def read_header(path: Path) -> dict[str, Tensor]:
    """The file's tensors, but for a tied head's. Raises Refused where it can't be read or ends too early."""
    tensors = read_every(path)
    if is_tied(path.parent):
        tensors.pop(HEAD, None)
    return tensors


def is_tied(directory: Path) -> bool:
    """Whether the embeddings are the head too, by `config.json`; so it is where that says nothing."""
    try:
        return bool(json.loads((directory / "config.json").read_bytes()).get("tie_word_embeddings", True))
    except (OSError, ValueError, AttributeError):
        return True


def read_every(path: Path, fix: str = "write the version again") -> dict[str, Tensor]:
    """All of the file's tensors. Raises Refused, with that fix, where it can't be read or ends too early."""
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(_LENGTH), "little")
            header = json.loads(file.read(length) if length < _LONGEST else b"")
        size = path.stat().st_size
    except OSError as error:
        raise Refused(f"{path}: can't be read ({error.strerror}); give a complete directory") from None
    except ValueError:
        raise Refused(f"{path}: can't be read as safetensors; {fix}") from None
    header.pop("__metadata__", None)
    data = _LENGTH + length
    tensors = {
        name: Tensor(entry["dtype"], tuple(entry["shape"]), *(data + at for at in entry["data_offsets"]))
        for name, entry in header.items()
    }
    wanted = max((tensor.end for tensor in tensors.values()), default=data)
    if size != wanted:
        raise Refused(f"{path}: has {size} bytes, must have {wanted}; {fix}")
    return tensors


def read_bytes(path: Path, name: str) -> bytes | None:
    """One tensor's bytes; None where the file doesn't hold it. Raises Refused."""
    tensor = read_header(path).get(name)
    if tensor is None:
        return None
    with path.open("rb") as file:
        file.seek(tensor.start)
        return file.read(tensor.end - tensor.start)


def check_like(path: Path, found: Mapping[str, Tensor], served: Mapping[str, Tensor]) -> None:
    """Raise Refused unless a file holds what the one that is served holds: names, shapes, some float."""
    missing, unknown = sorted(served.keys() - found.keys()), sorted(found.keys() - served.keys())
    if missing or unknown:
        raise Refused(f"{path}: tensors missing: {missing[:3] or 'none'}, unknown: {unknown[:3] or 'none'}")
    for name, tensor in found.items():
        if tensor.shape != served[name].shape:
            raise Refused(f"{path}: {name} has shape {tensor.shape}, must have {served[name].shape}")
        if tensor.dtype not in FLOATS:
            raise Refused(f"{path}: {name} has dtype {tensor.dtype}, must be a float")
