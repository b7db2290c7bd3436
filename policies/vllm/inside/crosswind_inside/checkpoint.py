"""Reads a version's directory and holds it against the one that is served, before any tensor is touched.

A reload that fails half-way leaves an engine that answers health checks and computes nonsense.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

METADATA = "crosswind.json"
WEIGHTS = "model.safetensors"
_CHECKED_FILES = ("config.json", WEIGHTS, "tokenizer.json", "chat_template.jinja")
_UNALTERED = ("tokenizer.json", "chat_template.jinja")
_OF_NO_IMPORT = {"dtype", "torch_dtype", "transformers_version", "_name_or_path"}
_TIED = "lm_head.weight"
_FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)


class Refused(Exception):
    """The directory can't be served in the place of what is. Names the file or tensor, and the mend."""


class Weights:
    """A directory's weights, mapped: they can be read even when the files are gone."""

    def __init__(self, directory: Path) -> None:
        """Raises Refused where they can't be read."""
        self.path = directory / WEIGHTS
        try:
            self.file = safe_open(str(self.path), framework="pt")
        except (OSError, SafetensorError) as error:
            raise Refused(f"{self.path}: can't be read as safetensors ({error})") from None
        self.names = tuple(name for name in self.file.keys() if name != _TIED)  # noqa: SIM118  no mapping

    def tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Every parameter by its name in the checkpoint. Tied embeddings come once."""
        for name in self.names:
            yield name, self.file.get_tensor(name)


def check_version(directory: Path, like: Path, version: str) -> None:
    """Check a full version against the directory that the engine was started with. Raises Refused."""
    metadata = read_json(directory / METADATA)
    if metadata.get("version") != version:
        raise Refused(f"{directory}: holds version {metadata.get('version')!r}, not {version!r}")
    _check_files(directory, like, str(metadata.get("checksum")))
    _check_config(read_json(directory / "config.json"), read_json(like / "config.json"), directory)
    _check_tensors(Weights(directory), Weights(like))


def read_json(path: Path) -> dict[str, Any]:
    """An object in a file. Raises Refused."""
    try:
        value = json.loads(path.read_bytes())
    except OSError as error:
        raise Refused(f"{path}: can't be read ({error.strerror}); give a complete directory") from None
    except ValueError:
        raise Refused(f"{path}: not JSON; write the version anew") from None
    if not isinstance(value, dict):
        raise Refused(f"{path}: not a JSON object; write the version anew")
    return value


def checksum(directory: Path, names: tuple[str, ...]) -> str:
    """BLAKE2b-256 over these files' names and contents, as the registry of versions takes it."""
    listing = "".join(f"{name} {_digest(directory / name)}\n" for name in names)
    return hashlib.blake2b(listing.encode(), digest_size=32).hexdigest()


def check_finite(path: Path, name: str, tensor: torch.Tensor) -> None:
    """Raises Refused where a value is no number."""
    if not bool(torch.isfinite(tensor).all()):
        raise Refused(f"{path}: {name} holds values that are not finite; don't publish a diverged policy")


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=32)).hexdigest()
    except OSError as error:
        raise Refused(f"{path}: can't be read ({error.strerror}); give a complete directory") from None


def _check_files(directory: Path, like: Path, wanted: str) -> None:
    found = checksum(directory, _CHECKED_FILES)
    if found != wanted:
        raise Refused(
            f"{directory}: checksum is {found[:16]}…, {METADATA} says {wanted[:16]!r}…: "
            "the files were changed after they were published; publish them as a new version"
        )
    for name in _UNALTERED:
        if _digest(directory / name) != _digest(like / name):
            raise Refused(f"{directory}: its {name} isn't the one that is served; start an engine for it")


def _check_config(found: dict[str, Any], served: dict[str, Any], directory: Path) -> None:
    for name in sorted((found.keys() | served.keys()) - _OF_NO_IMPORT):
        if found.get(name) != served.get(name):
            raise Refused(
                f"{directory}: config.json's {name} is {found.get(name)!r}, this engine serves "
                f"{served.get(name)!r}; start an engine for it"
            )


def _check_tensors(weights: Weights, served: Weights) -> None:
    path, wanted, found = weights.path, set(served.names), set(weights.names)
    missing, unknown = sorted(wanted - found), sorted(found - wanted)
    if missing or unknown:
        raise Refused(f"{path}: tensors missing: {missing[:3] or 'none'}, unknown: {unknown[:3] or 'none'}")
    for name, tensor in weights.tensors():
        shape = tuple(served.file.get_slice(name).get_shape())
        if tuple(tensor.shape) != shape:
            raise Refused(f"{path}: {name} has shape {tuple(tensor.shape)}, must have {shape}")
        if tensor.dtype not in _FLOATS:
            raise Refused(f"{path}: {name} has dtype {tensor.dtype}, must be a float")
        check_finite(path, name, tensor)
