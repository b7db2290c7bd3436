"""What a safetensors file holds, read without torch: names, shapes and whether it is complete."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import orjson

from policies.version import VersionError

_LENGTH = 8
"""Bytes before the header, that say how long it is."""
_LONGEST = 100_000_000
_FLOATS = ("F64", "F32", "F16", "BF16")
EMBEDDINGS = "model.embed_tokens.weight"
TIED = "lm_head.weight"
"""Stored a second time by some writers where embeddings are tied."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor's dtype, as safetensors names it, its shape, and where in the file its bytes are."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int


def read_header(path: Path) -> dict[str, Tensor]:
    """The file's tensors. Raises VersionError where it can't be read or ends too early."""
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(_LENGTH), "little")
            header = orjson.loads(file.read(length) if length < _LONGEST else b"")
        size = path.stat().st_size
    except OSError as error:
        raise VersionError(f"{path}: can't be read ({error.strerror}); give a complete directory") from None
    except ValueError:
        raise VersionError(f"{path}: can't be read as safetensors; write the version anew") from None
    header.pop("__metadata__", None)
    data = _LENGTH + length
    tensors = {
        name: Tensor(entry["dtype"], tuple(entry["shape"]), *(data + at for at in entry["data_offsets"]))
        for name, entry in header.items()
    }
    wanted = max((tensor.end for tensor in tensors.values()), default=data)
    if size != wanted:
        raise VersionError(f"{path}: has {size} bytes, must have {wanted}; write the version anew")
    return tensors


def read_bytes(path: Path, name: str) -> bytes | None:
    """One tensor's bytes; None where the file doesn't hold it. Raises VersionError."""
    tensor = read_header(path).get(name)
    if tensor is None:
        return None
    with path.open("rb") as file:
        file.seek(tensor.start)
        return file.read(tensor.end - tensor.start)


def check_like(path: Path, served: Path) -> None:
    """Raise VersionError unless a file has the tensors of the one that is served, by name and shape."""
    found, wanted = read_header(path), read_header(served)
    for tensors in (found, wanted):
        tensors.pop(TIED, None)
    missing, unknown = sorted(wanted.keys() - found.keys()), sorted(found.keys() - wanted.keys())
    if missing or unknown:
        raise VersionError(
            f"{path}: tensors missing: {missing[:3] or 'none'}, unknown: {unknown[:3] or 'none'}"
        )
    for name, tensor in found.items():
        if tensor.shape != wanted[name].shape:
            raise VersionError(f"{path}: {name} has shape {tensor.shape}, must have {wanted[name].shape}")
        if tensor.dtype not in _FLOATS:
            raise VersionError(f"{path}: {name} has dtype {tensor.dtype}, must be a float")
