"""A random policy of the real shape, and the engine that serves it on a real socket."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from crosswind.policies.embedded.batch import BatchLimits
from crosswind.policies.embedded.checkpoint import read_shape
from crosswind.policies.embedded.server import make_server
from crosswind.policies.publishers.embedded import EmbeddedEngine
from crosswind.policies.tiny.directory import write_policy, write_successor
from crosswind.policies.tiny.model import Shape, initial_weights
from crosswind.policies.tiny.tokenizer import train_tokenizer
from crosswind.policies.versions.version import PolicyVersion, Registry
from tests.serving import serve_in_thread

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": "Reads.",
            "parameters": {"type": "object", "properties": {key: {"type": "string"} for key in keys}},
        },
    }
    for name, keys in {"get_order": ["order_id"], "find_item": ["name", "colour"], "ping": []}.items()
]
TEXTS = [
    '<|user|>What is the status of order #W1234?<|end|><|assistant|><tool_call>{"name": "get_order", '
    '"arguments": {"order_id": "#W1234"}}</tool_call><|end|><|tool|>{"order_id": "#W1234", "status": '
    '"cancelled", "total": 120.5}<|end|><|assistant|>Your order is cancelled.<|end|>',
    '<|user|>Find me a red chair, please.<|end|><|assistant|><tool_call>{"name": "find_item", "arguments": '
    '{"name": "chair", "colour": "red"}}</tool_call><|end|><|assistant|>Here it is.<|end|>',
] * 3


@dataclass(frozen=True)
class Served:
    """A running engine: its root URL, what it served first, and the registry of all there is to publish."""

    url: str
    first: PolicyVersion
    registry: Registry
    client: EmbeddedEngine


@contextmanager
def serving(directory: Path, *, seed: int = 0, rows: int = 64) -> Iterator[str]:
    """The engine on a free port of the loopback; gives its root URL."""
    with serve_in_thread(make_server(directory, seed=seed, limits=BatchLimits(rows=rows))) as url:
        yield url


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    """Versions `random-0`, with all a policy has, and `random-1` and `random-2`, which differ in weights."""
    torch.set_num_threads(1)
    registry = Registry(tmp_path_factory.mktemp("policies") / "versions")
    first = add_random(registry, "random-0", TEXTS)
    for step in (1, 2):
        add_successor(registry, first, f"random-{step}", step=step)
    return registry


def add_random(registry: Registry, name: str, texts: list[str], **sizes: int) -> PolicyVersion:
    """A version with random weights, whose tokenizer knows these texts."""
    tokenizer = train_tokenizer(texts)
    shape = Shape(tokenizer.get_vocab_size(), **sizes)
    return registry.add(name, lambda path: write_policy(path, shape, initial_weights(shape, 0), tokenizer))


def add_successor(
    registry: Registry,
    parent: PolicyVersion,
    name: str,
    *,
    step: int = 1,
    spoil: Callable[[dict[str, torch.Tensor]], None] = lambda weights: None,
) -> PolicyVersion:
    """A version with other random weights, spoilt as wanted."""
    weights = initial_weights(read_shape(parent.path), step)
    spoil(weights)
    return registry.add(
        name, lambda path: write_successor(path, parent.path, weights), parent=parent.version, step=step
    )


@pytest.fixture
def served(registry: Registry) -> Iterator[Served]:
    """An engine that serves `random-0`."""
    first = registry.get("random-0")
    with serving(first.path) as url, EmbeddedEngine(url) as client:
        yield Served(url, first, registry, client)


def _infinite(weights: dict[str, torch.Tensor]) -> None:
    weights["model.layers.1.mlp.up_proj.weight"][3, 5] = float("nan")


def _misshapen(weights: dict[str, torch.Tensor]) -> None:
    weights["model.norm.weight"] = torch.ones(64)


def _partial(weights: dict[str, torch.Tensor]) -> None:
    del weights["model.layers.0.self_attn.q_norm.weight"]


def _unknown(weights: dict[str, torch.Tensor]) -> None:
    weights["extra.weight"] = torch.ones(2)


SPOILT = pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (_infinite, "not finite"),
        (_misshapen, r"model.norm.weight has shape \(64,\), must have \(128,\)"),
        (_partial, "missing: .*q_norm"),
        (_unknown, "unknown: .*extra"),
    ],
)
"""Weights that no engine may serve, and why it says it doesn't."""
