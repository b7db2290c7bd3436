"""Reading a checkpoint: everything is read and checked before the first tensor that serves is touched."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import orjson
import torch
from safetensors import SafetensorError
from safetensors.torch import load

from crosswind.policies.tiny.model import VARIANTS, Shape
from crosswind.policies.versions.adapter import read_adapter
from crosswind.policies.versions.version import PolicyVersion, VersionError, find_base, read_version, verify


@dataclass(frozen=True, slots=True)
class Layer:
    """One block's weights. Query, key and value are one matrix, and so are gate and up."""

    input_norm: torch.Tensor
    query_key_value: torch.Tensor
    query_key_value_bias: torch.Tensor | None
    query_norm: torch.Tensor | None
    key_norm: torch.Tensor | None
    output: torch.Tensor
    feed_forward_norm: torch.Tensor
    gate_up: torch.Tensor
    down: torch.Tensor


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A complete set of weights, ready to serve, with the version it is."""

    version: PolicyVersion
    shape: Shape
    embeddings: torch.Tensor
    head: torch.Tensor
    """Projects hidden states to the vocabulary; tied, these are the embeddings."""
    norm: torch.Tensor
    layers: tuple[Layer, ...]


def read_shape(directory: Path) -> Shape:
    """The shape in `config.json`. Raises VersionError naming the field."""
    try:
        return Shape.from_config(orjson.loads((directory / "config.json").read_bytes()))
    except OSError as error:
        raise VersionError(f"{directory / 'config.json'}: can't be read ({error.strerror})") from None
    except KeyError as error:
        raise VersionError(f"{directory / 'config.json'}: field {error} is missing") from None
    except ValueError as error:
        raise VersionError(
            f"{directory}: {error}: the embedded engine serves {', '.join(VARIANTS)}, without scaled "
            f"positions, windows or further biases; serve it with vLLM (`crosswind policy serve {directory}`)"
        ) from None


def read_checkpoint(directory: Path, *, like: Shape | None = None) -> Checkpoint:
    """Read and check a directory. Raises VersionError: files, checksum, keys, shapes, dtypes, finite values.

    `like` is the shape that is served now: another one needs a new engine.
    """
    version = read_version(directory)
    verify(version)
    base = find_base(version)
    shape = read_shape(version.home)
    if like is not None and shape != like:
        raise VersionError(
            f"{directory}: config.json says {shape}, this engine serves {like}; start an engine of that shape"
        )
    path = version.home / "model.safetensors"
    try:
        tensors = load(path.read_bytes())
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise VersionError(f"{path}: can't be read as safetensors ({error})") from None
    if base is not None:
        tensors = {name: tensor.float() for name, tensor in tensors.items()}
        read_adapter(directory).merge_into(tensors)
    _check(path, tensors, shape)
    return _assemble(version, shape, tensors)


def _check(path: Path, tensors: dict[str, torch.Tensor], shape: Shape) -> None:
    wanted = shape.parameters()
    if shape.tied:
        tensors.pop("lm_head.weight", None)  # some writers store the embeddings a second time
    missing, unknown = sorted(wanted.keys() - tensors.keys()), sorted(tensors.keys() - wanted.keys())
    if missing or unknown:
        raise VersionError(
            f"{path}: tensors missing: {missing[:3] or 'none'}, unknown: {unknown[:3] or 'none'}"
        )
    for name, size in wanted.items():
        tensor = tensors[name]
        if tuple(tensor.shape) != size:
            raise VersionError(f"{path}: {name} has shape {tuple(tensor.shape)}, must have {size}")
        if not tensor.is_floating_point():
            raise VersionError(f"{path}: {name} has dtype {tensor.dtype}, must be a float")
        if not bool(torch.isfinite(tensor).all()):
            raise VersionError(
                f"{path}: {name} holds values that are not finite; don't publish a diverged policy"
            )


def _assemble(version: PolicyVersion, shape: Shape, tensors: dict[str, torch.Tensor]) -> Checkpoint:
    def get(name: str) -> torch.Tensor:
        return tensors[f"{name}.weight"].to(torch.float32)

    def find(name: str) -> torch.Tensor | None:
        return get(name) if f"{name}.weight" in tensors else None

    def layer(index: int) -> Layer:
        at = f"model.layers.{index}"
        biases = [tensors.get(f"{at}.self_attn.{name}_proj.bias") for name in "qkv"]
        bias = torch.cat([each.to(torch.float32) for each in biases if each is not None] or [torch.zeros(0)])
        return Layer(
            input_norm=get(f"{at}.input_layernorm"),
            query_key_value=torch.cat([get(f"{at}.self_attn.{name}_proj") for name in "qkv"]),
            query_key_value_bias=bias if len(bias) else None,
            query_norm=find(f"{at}.self_attn.q_norm"),
            key_norm=find(f"{at}.self_attn.k_norm"),
            output=get(f"{at}.self_attn.o_proj"),
            feed_forward_norm=get(f"{at}.post_attention_layernorm"),
            gate_up=torch.cat([get(f"{at}.mlp.gate_proj"), get(f"{at}.mlp.up_proj")]),
            down=get(f"{at}.mlp.down_proj"),
        )

    embeddings = get("model.embed_tokens")
    head = embeddings if shape.tied else get("lm_head")
    return Checkpoint(
        version, shape, embeddings, head, get("model.norm"), tuple(map(layer, range(shape.layers)))
    )
