"""A model's weights, from any layout that transformers has written, into one `model.safetensors`.

Where safetensors hold what the architecture calls its weights, their bytes are copied, tensor by tensor,
whatever their size. Where names are of another time, or the files are pickles, they pass through memory.
"""

from __future__ import annotations

import pickle
import shutil
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import orjson

from crosswind.policies.deployment.reference import read_first_line
from crosswind.policies.versions.version import VersionError
from crosswind.policies.vllm_inside.crosswind_inside.header import FLOATS, Refused, Tensor, read_every

WEIGHTS = "model.safetensors"
_LAYOUTS = (WEIGHTS, "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
"""In the order in which transformers looks for them."""
_DTYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}
_AGAIN = "download that file again"


@dataclass(frozen=True, slots=True)
class WrittenWeights:
    """What became of the weights: how many values, of which dtype, and what was no part of the model."""

    parameters: int
    dtype: str
    left_out: Sequence[str] = ()


def find_weights(directory: Path) -> list[Path]:
    """The files of a model's weights. Raises VersionError where there are none, or a shard is missing."""
    layout = next((name for name in _LAYOUTS if (directory / name).is_file()), None)
    if layout is None:
        raise VersionError(
            f"{directory}: no weights: none of {', '.join(_LAYOUTS)} is there; give a complete directory"
        )
    if not layout.endswith(".index.json"):
        return [directory / layout]
    files = [directory / name for name in sorted(set(_read_index(directory / layout).values()))]
    if missing := [file.name for file in files if not file.is_file()]:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise VersionError(
            f"{directory}: {layout} names {missing[0]}{more}, which isn't there; download the missing shards"
        )
    return files


def _read_index(path: Path) -> dict[str, str]:
    """Which file each tensor is in. A file is a plain name: it lies beside the index."""
    try:
        places = orjson.loads(path.read_bytes())["weight_map"]
        return {str(name): Path(file).name for name, file in places.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise VersionError(
            f"{path}: field 'weight_map' isn't a mapping of tensors to files; {_AGAIN}"
        ) from None


def write_weights(directory: Path, files: Sequence[Path], model: Any, target: Path) -> WrittenWeights:
    """Write the weights that `model`, which has none of its own (it is on the meta device), asks for.

    Raises VersionError where files are damaged or another model's, OSError where the disk is full.
    """
    wanted = {name: tuple(tensor.shape) for name, tensor in model.named_parameters()}
    kept = model.state_dict()
    wanted |= {name: tuple(tensor.shape) for name, tensor in model.named_buffers() if name in kept}
    if files[0].suffix != ".safetensors":
        from crosswind.policies.versions.weights import save  # with torch

        tensors = _unpickle(files)
        if all(name in tensors and tuple(tensors[name].shape) == size for name, size in wanted.items()):
            save(target, {name: tensors[name] for name in wanted})
            return _describe(target, tensors.keys() - kept.keys())
        return _convert(directory, model, target)
    found = _read_headers(files)
    if any(name not in found or found[name][1].shape != size for name, size in wanted.items()):
        return _convert(directory, model, target)
    _join(found, wanted, target)
    return _describe(target, found.keys() - kept.keys())


def _read_headers(files: Iterable[Path]) -> dict[str, tuple[Path, Tensor]]:
    """Each tensor with the file that holds it."""
    try:
        return {name: (file, tensor) for file in files for name, tensor in read_every(file, _AGAIN).items()}
    except Refused as error:
        raise VersionError(str(error)) from None


def _join(found: Mapping[str, tuple[Path, Tensor]], names: Iterable[str], target: Path) -> None:
    """Copy the tensors' bytes into one safetensors file."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    order, at = list(names), 0
    for name in order:
        tensor = found[name][1]
        size = tensor.end - tensor.start
        header[name] = {"dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": (at, at + size)}
        at += size
    text = orjson.dumps(header)
    text += b" " * (-len(text) % 8)  # tensors begin at a multiple of eight bytes
    with target.open("wb") as out:
        out.write(len(text).to_bytes(8, "little") + text)
        for name in order:
            path, tensor = found[name]
            _copy(path, tensor, out)


def _copy(path: Path, tensor: Tensor, out: Any, at_once: int = 2**24) -> None:
    with path.open("rb") as file:
        file.seek(tensor.start)
        left = tensor.end - tensor.start
        while left and (piece := file.read(min(left, at_once))):
            out.write(piece)
            left -= len(piece)
    if left:
        raise VersionError(f"{path}: ends too early; {_AGAIN}")


def _unpickle(files: Iterable[Path]) -> dict[str, Any]:
    """The tensors of `pytorch_model.bin`: tensors alone are read, and nothing is run."""
    import torch

    tensors: dict[str, Any] = {}
    for file in files:
        try:
            new = zipfile.is_zipfile(file)  # what torch wrote before 1.6 can't be mapped
            tensors |= torch.load(file, map_location="cpu", weights_only=True, mmap=new)
        except (pickle.UnpicklingError, RuntimeError, EOFError, TypeError, ValueError) as error:
            raise VersionError(
                f"{file}: can't be read as tensors alone ({read_first_line(error)}); {_AGAIN}, or take the "
                "model's safetensors"
            ) from None
    return tensors


def _convert(directory: Path, model: Any, target: Path) -> WrittenWeights:
    """Let transformers rename, split and fuse what older files hold. What it would make up is refused."""
    from crosswind.policies.versions.weights import save  # with torch

    try:
        module, told = type(model).from_pretrained(
            directory,
            config=model.config,
            dtype="auto",
            local_files_only=True,
            trust_remote_code=False,
            output_loading_info=True,
        )
    except (OSError, ValueError, KeyError, RuntimeError, pickle.UnpicklingError) as error:
        raise VersionError(
            f"{directory}: the weights aren't those of config.json: {read_first_line(error)}; give a "
            "complete directory"
        ) from None
    if missing := sorted(told["missing_keys"]):
        raise VersionError(
            f"{directory}: {len(missing)} weights that config.json asks for are in no file ({missing[0]}, "
            "say); download the missing files, or correct config.json"
        )
    tensors, seen = {}, set[int]()
    for name, tensor in module.state_dict().items():
        if tensor.data_ptr() not in seen or not tensor.numel():
            seen.add(tensor.data_ptr())
            tensors[name] = tensor
    save(target, tensors)
    return _describe(target, told["unexpected_keys"])


def _describe(target: Path, left_out: Iterable[str]) -> WrittenWeights:
    tensors = read_every(target)
    sizes: dict[str, int] = {}
    for name, tensor in tensors.items():
        if tensor.dtype not in FLOATS:
            raise VersionError(
                f"{target.name}: {name} has dtype {tensor.dtype}, must be a float; give a model that isn't "
                "quantised"
            )
        sizes[tensor.dtype] = sizes.get(tensor.dtype, 0) + prod(tensor.shape)
    most = max(sizes, key=lambda dtype: sizes[dtype])
    return WrittenWeights(sum(sizes.values()), _DTYPES[most], tuple(sorted(left_out)))


def check_space(files: Iterable[Path], root: Path) -> None:
    """Raise VersionError where the weights wouldn't fit beside what is under the root."""
    needed = sum(file.stat().st_size for file in files)
    standing = next(folder for folder in (root, *root.resolve().parents) if folder.is_dir())
    free = shutil.disk_usage(standing).free
    if needed > free:
        raise VersionError(
            f"{root}: the weights need {needed / 2**30:.1f} GiB, {free / 2**30:.1f} GiB are free; free space "
            "there, or name another folder with --versions"
        )
