"""Reads a version's directory and holds it against the one that is served, before any tensor is touched.

A reload that fails half-way leaves an engine that answers health checks and computes nonsense. All this runs
beside a busy event loop: it is a few long calls that release the interpreter's lock, not one for each tensor.
"""

from __future__ import annotations

import hashlib
import json
import mmap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from .header import Refused, Tensor, check_like, read_header

METADATA = "crosswind.json"
WEIGHTS = "model.safetensors"
_CHECKED_FILES = ("config.json", WEIGHTS, "tokenizer.json", "chat_template.jinja")
_UNALTERED = ("tokenizer.json", "chat_template.jinja")
_OF_NO_IMPORT = {"dtype", "torch_dtype", "transformers_version", "_name_or_path"}
_DTYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
_AT_ONCE = 2**26
"""Bytes or values in one call."""


def check_version(directory: Path, like: Path, version: str) -> None:
    """Check a full version against the directory that the engine was started with. Raises Refused."""
    check_metadata(directory, version, _CHECKED_FILES)
    for name in _UNALTERED:
        if _digest(directory / name) != _digest(like / name):
            raise Refused(f"{directory}: its {name} isn't the one that is served; start an engine for it")
    _check_config(read_json(directory / "config.json"), read_json(like / "config.json"), directory)
    path = directory / WEIGHTS
    tensors = read_header(path)
    check_like(path, tensors, read_header(like / WEIGHTS))
    check_finite(path, tensors)


def check_metadata(directory: Path, version: str, files: tuple[str, ...]) -> None:
    """Raise Refused unless it is that version, and its files those that its checksum was taken of."""
    metadata = read_json(directory / METADATA)
    if metadata.get("version") != version:
        raise Refused(f"{directory}: holds version {metadata.get('version')!r}, not {version!r}")
    listing = "".join(f"{name} {_digest(directory / name)}\n" for name in files)
    found = hashlib.blake2b(listing.encode(), digest_size=32).hexdigest()
    wanted = str(metadata.get("checksum"))
    if found != wanted:
        raise Refused(
            f"{directory}: checksum is {found[:16]}…, {METADATA} says {wanted[:16]!r}…: "
            "the files were changed after they were published; publish them as a new version"
        )


def read_json(path: Path) -> dict[str, Any]:
    """An object in a file. Raises Refused."""
    try:
        value = json.loads(path.read_bytes())
    except OSError as error:
        raise Refused(f"{path}: can't be read ({error.strerror}); give a complete directory") from None
    except ValueError:
        raise Refused(f"{path}: not JSON; write the version again") from None
    if not isinstance(value, dict):
        raise Refused(f"{path}: not a JSON object; write the version again")
    return value


def check_finite(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Raise Refused where a value is no number. The tensors are floats."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as mapped:
        for dtype, start, end in _runs(tensors):
            size = _DTYPES[dtype].itemsize
            for place in range(start, end, _AT_ONCE * size):
                count = min(_AT_ONCE, (end - place) // size)
                values = torch.frombuffer(mapped, dtype=_DTYPES[dtype], count=count, offset=place)
                finite = bool(torch.isfinite(values).all())
                del values  # it would keep the mapping
                if not finite:
                    raise Refused(
                        f"{path}: {_first_infinite(mapped, tensors)} holds values that are not finite; don't "
                        "publish a diverged policy"
                    )


def _first_infinite(mapped: mmap.mmap, tensors: Mapping[str, Tensor]) -> str:
    for name, tensor in tensors.items():
        dtype = _DTYPES[tensor.dtype]
        count = (tensor.end - tensor.start) // dtype.itemsize
        values = torch.frombuffer(bytearray(mapped[tensor.start : tensor.end]), dtype=dtype, count=count)
        if not bool(torch.isfinite(values).all()):
            return name
    return "the file"


def _runs(tensors: Mapping[str, Tensor]) -> list[tuple[str, int, int]]:
    """Neighbours of one dtype, joined: dtype, start and end in bytes."""
    runs: list[tuple[str, int, int]] = []
    for tensor in sorted(tensors.values(), key=lambda tensor: tensor.start):
        if runs and runs[-1][0] == tensor.dtype and runs[-1][2] == tensor.start:
            runs[-1] = (tensor.dtype, runs[-1][1], tensor.end)
        elif tensor.end > tensor.start:
            runs.append((tensor.dtype, tensor.start, tensor.end))
    return runs


def _digest(path: Path) -> str:
    digest = hashlib.blake2b(digest_size=32)
    try:
        with path.open("rb") as file:
            while piece := file.read(_AT_ONCE):
                digest.update(piece)
    except OSError as error:
        raise Refused(f"{path}: can't be read ({error.strerror}); give a complete directory") from None
    return digest.hexdigest()


def _check_config(found: dict[str, Any], served: dict[str, Any], directory: Path) -> None:
    for name in sorted((found.keys() | served.keys()) - _OF_NO_IMPORT):
        if found.get(name) != served.get(name):
            raise Refused(
                f"{directory}: config.json's {name} is {found.get(name)!r}, this engine serves "
                f"{served.get(name)!r}; start an engine for it"
            )
