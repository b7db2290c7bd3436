"""LoRA: published in place, sampled as the merged weights would be, and taken off again."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
import torch
from safetensors.torch import load_file

from crosswind.policies.engine import EngineError
from crosswind.policies.tiny.directory import write_successor
from crosswind.policies.versions.adapter import Adapter
from crosswind.policies.versions.version import PolicyVersion, Registry
from tests.policies.asking import Read, Streams, are_in_order, ask, chat, publish, sampled
from tests.policies.vllm.reference import TOLERANCE, furthest, logprobs
from tests.vllm_server import VllmServed

pytestmark = pytest.mark.vllm

TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


def random_adapter(base: PolicyVersion, seed: int, rank: int = 8) -> Adapter:
    """Of every linear layer."""
    generator = torch.Generator().manual_seed(seed)
    down, up = {}, {}
    for name, weight in load_file(base.path / "model.safetensors").items():
        layer = name.removesuffix(".weight")
        if layer.endswith(TARGETS):
            down[layer] = 0.1 * torch.randn(rank, weight.shape[1], generator=generator)
            up[layer] = 0.1 * torch.randn(weight.shape[0], rank, generator=generator)
    return Adapter(rank, 16.0, down, up)


def published(registry: Registry, base: PolicyVersion, adapter: Adapter, name: str) -> PolicyVersion:
    return registry.add(name, lambda path: adapter.write(path, base.version), base=base)


def merged(registry: Registry, base: PolicyVersion, adapter: Adapter, name: str) -> Path:
    """The full weights that the adapter amounts to."""
    weights = load_file(base.path / "model.safetensors")
    adapter.merge_into(weights)
    return registry.add(name, lambda path: write_successor(path, base.path, weights)).path


def _sample(served: VllmServed) -> Read:
    return sampled(ask(served.url, chat("Where is order #W1234? " * 8, max_tokens=12, seed=4)))


def test_an_adapter_samples_as_the_merged_weights_would(vllm: VllmServed, tmp_path: Path) -> None:
    registry, bases = Registry(tmp_path), [vllm.first, vllm.registry.get("moved-1")]
    for number, base in enumerate([*bases, bases[0]]):
        # The second replaces the first in place, with another base under it.
        adapter = random_adapter(base, number)
        version = published(registry, base, adapter, f"adapter-{number}")
        vllm.engine.publish(version)
        read = _sample(vllm)
        assert read.versions == [version.version]
        assert read.usage["prompt_tokens_details"]["cached_tokens"] == 0
        path = merged(registry, base, adapter, f"merged-{number}")
        expected = logprobs(path, read.prompt, read.tokens)
        assert furthest(read.logprobs, expected) < TOLERANCE
        scored = vllm.engine.score([read.prompt], [read.tokens])
        assert scored.version == version.version
        assert furthest(scored.logprobs[0], expected) < TOLERANCE
    vllm.engine.publish(vllm.first)
    read = _sample(vllm)
    assert read.versions == ["retail"]
    assert furthest(read.logprobs, logprobs(vllm.first.path, read.prompt, read.tokens)) < TOLERANCE


LENGTH, ATTEMPTS = 800, 10
"""Of streams that are to be seen through three swaps: nearly all that the context has room for. Where they
are too short for that even so, they get further attempts.
"""
BASE, ADAPTED = ["retail", "moved-2"], ["adapter-0", "adapter-1", "moved-2"]
"""What samples a stream that began without an adapter: it goes on without one, under its base's name; and one
that began with an adapter: it goes on with the next, or with none.
"""


async def test_streams_go_on_over_adapters_and_say_what_sampled_them(
    vllm: VllmServed, tmp_path: Path
) -> None:
    registry = Registry(tmp_path)
    adapters = [
        published(registry, vllm.first, random_adapter(vllm.first, number), f"adapter-{number}")
        for number in range(3)
    ]
    body = chat("Tell me all about it.", max_tokens=LENGTH, ignore_eos=True)
    bodies = [body | {"seed": seed} for seed in range(4)]
    swaps = [*([BASE] * 4), *([ADAPTED] * 4)]

    async with httpx.AsyncClient(timeout=120, trust_env=False) as http:
        seen: list[list[str]] = []
        for _ in range(ATTEMPTS):
            await publish(http, vllm.url, vllm.first)
            streams = Streams(http, vllm.url)
            await streams.begin(bodies)
            await publish(http, vllm.url, adapters[0])
            await streams.begin(bodies)
            await publish(http, vllm.url, adapters[1])
            await publish(http, vllm.url, vllm.registry.get("moved-2"))
            read = await streams.ends()
            for one in read:
                assert one.finish == "length" and len(one.tokens) == len(one.logprobs) == LENGTH
            seen = [one.versions for one in read]
            # A stream may have ended before a swap, or sampled nothing between two.
            assert all(map(are_in_order, seen, swaps)), seen
            if seen == swaps:
                break
    assert seen == swaps


def test_adapters_that_dont_fit_are_refused(vllm: VllmServed, tmp_path: Path) -> None:
    registry, base = Registry(tmp_path), vllm.first
    wide, partial, nowhere = (random_adapter(base, 0) for _ in range(3))
    layer = "model.layers.0.self_attn.q_proj"
    up, down = dict(wide.up), dict(wide.down)
    up[layer] = torch.zeros(64, 8)
    spoilt = Adapter(8, 16.0, down, up)
    _assert_refused(vllm, published(registry, base, spoilt, "wide"), r"must have \(128, 8\)")
    high = random_adapter(base, 1, rank=32)
    _assert_refused(vllm, published(registry, base, high, "high"), "rank is 32, this engine takes 1 to 16")
    renamed = Adapter(8, 16.0, {"model.other": partial.down[layer]}, {"model.other": partial.up[layer]})
    _assert_refused(vllm, published(registry, base, renamed, "nowhere"), "belongs to nothing")
    changed = published(registry, base, nowhere, "changed")
    weights = changed.path / "adapter_model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-8] + b"\0" * 8)
    _assert_refused(vllm, changed, "checksum")


def _assert_refused(served: VllmServed, version: PolicyVersion, reason: str) -> None:
    with pytest.raises(EngineError, match=reason):
        served.engine.publish(version)
    assert served.engine.health().version == "retail"
