"""Writing a policy directory: a Hugging Face directory that transformers loads unchanged."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import orjson
import torch
from tokenizers import Tokenizer

from crosswind.policies.tiny.model import Shape
from crosswind.policies.tiny.tokenizer import END_OF_TURN, PAD, save_tokenizer
from crosswind.policies.versions.weights import save

TEMPLATE = Path(__file__).parent.parent / "chat_template.jinja"
SHARED_FILES = (
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "chat_template.jinja",
)
"""What stays the same from one version of a policy to the next."""


def write_policy(
    directory: Path, shape: Shape, weights: Mapping[str, torch.Tensor], tokenizer: Tokenizer
) -> None:
    """Write a new policy's directory: everything but `crosswind.json`."""
    eos, pad = tokenizer.token_to_id(END_OF_TURN), tokenizer.token_to_id(PAD)
    _write_json(directory / "config.json", shape.to_config(eos=eos, pad=pad))
    _write_json(
        directory / "generation_config.json",
        {"do_sample": True, "temperature": 1.0, "eos_token_id": eos, "pad_token_id": pad},
    )
    save_tokenizer(tokenizer, directory, shape.context)
    shutil.copyfile(TEMPLATE, directory / "chat_template.jinja")
    write_weights(directory, weights)


def write_successor(directory: Path, parent: Path, weights: Mapping[str, torch.Tensor]) -> None:
    """Write new weights beside the parent's configuration, tokenizer and template."""
    for name in SHARED_FILES:
        shutil.copyfile(parent / name, directory / name)
    write_weights(directory, weights)


def write_weights(directory: Path, weights: Mapping[str, torch.Tensor]) -> None:
    """Write `model.safetensors` in float32."""
    flat = {name: weight.to(torch.float32) for name, weight in weights.items()}
    save(directory / "model.safetensors", flat)


def _write_json(path: Path, value: object) -> None:
    path.write_bytes(orjson.dumps(value, option=orjson.OPT_INDENT_2))
