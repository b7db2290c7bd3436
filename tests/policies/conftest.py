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
    tokenizer = train_tokenizer(TEXTS)
    shape = Shape(tokenizer.get_vocab_size())
    registry = Registry(tmp_path_factory.mktemp("policies") / "versions")
    weights = initial_weights(shape, 0)
    first = registry.add("random-0", lambda path: write_policy(path, shape, weights, tokenizer))
    for step in (1, 2):
        add_successor(registry, first, f"random-{step}", step=step)
    return registry


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
