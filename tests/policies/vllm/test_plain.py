"""vLLM without our extension: reload from disk by its own routes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import torch
from safetensors.torch import load_file

from crosswind.policies.engine import EngineError
from crosswind.policies.publishers.embedded import VllmEngine
from crosswind.policies.publishers.registry import connect
from crosswind.policies.publishers.vllm_plain import PlainVllm
from crosswind.policies.tiny.directory import write_successor
from crosswind.policies.versions.version import PolicyVersion, Registry, read_version
from crosswind.policies.vllm_inside.crosswind_inside.header import EMBEDDINGS
from tests.policies.asking import Streams, ask, chat, sampled
from tests.policies.scripted import answering
from tests.policies.vllm.reference import TOLERANCE, furthest, logprobs
from tests.policies.vllm.test_life import ALIVE
from tests.vllm_server import VllmServed


@pytest.fixture
def started_with(vllm: VllmServed) -> PolicyVersion:
    """What the server started with, which serves now: another than the first after a restart."""
    model = httpx.get(f"{vllm.url}/v1/models", trust_env=False).json()["data"][0]
    version = read_version(Path(model["root"]))
    vllm.engine.publish(version)
    return version


@pytest.fixture
def plain(vllm: VllmServed, started_with: PolicyVersion) -> Iterator[PlainVllm]:
    """The same server, as if it hadn't our routes; it has vLLM's own development routes too."""
    with PlainVllm(vllm.url) as engine:
        yield engine
    # What serves was changed behind its back.
    vllm.engine.publish(vllm.first)


def test_kinds_of_vllm_are_told_apart() -> None:
    with answering(ALIVE | {"/version": {"version": "0.32.0"}}) as url, connect(url) as engine:
        assert isinstance(engine, PlainVllm)
        assert "VLLM_SERVER_DEV_MODE" in str(engine.health().untrainable)


@pytest.mark.vllm
def test_our_own_is_known_by_its_routes(vllm: VllmServed) -> None:
    assert isinstance(vllm.engine, VllmEngine)
    assert not PlainVllm.recognises(vllm.url, 10.0)


LENGTH = 700
"""Of streams that are to see a reload."""


@pytest.mark.vllm
async def test_a_reload_from_disk_drops_nothing(
    vllm: VllmServed, plain: PlainVllm, started_with: PolicyVersion, tmp_path: Path
) -> None:
    weights = load_file(vllm.registry.get("moved-3").path / "model.safetensors")
    weights[EMBEDDINGS] = load_file(started_with.path / "model.safetensors")[EMBEDDINGS]
    moved = _version(vllm, tmp_path, "headless", weights)
    body = chat("Tell me all about it.", max_tokens=LENGTH, ignore_eos=True)
    async with httpx.AsyncClient(timeout=120, trust_env=False) as http:
        streams = Streams(http, vllm.url)
        await streams.begin([body | {"seed": seed} for seed in range(8)])
        published = await asyncio.to_thread(plain.publish, moved)
        read = await streams.ends()
    assert published.version == plain.health().version == "headless"
    for one in read:
        assert one.finish == "length" and len(one.tokens) == len(one.logprobs) == LENGTH
    after = sampled(ask(vllm.url, body))
    expected = logprobs(moved.path, after.prompt, after.tokens)
    assert furthest(after.logprobs, expected) < TOLERANCE
    scored = plain.score([after.prompt], [after.tokens])
    assert scored.version == "headless" and furthest(scored.logprobs[0], expected) < TOLERANCE


@pytest.mark.vllm
def test_what_it_cant_serve_is_refused_before_anything_is_paused(
    vllm: VllmServed, plain: PlainVllm, started_with: PolicyVersion, tmp_path: Path
) -> None:
    weights = load_file(vllm.first.path / "model.safetensors")
    partial = {name: tensor for name, tensor in weights.items() if name != "model.norm.weight"}
    with pytest.raises(EngineError, match=r"missing: \['model.norm.weight'\]"):
        plain.publish(_version(vllm, tmp_path, "partial", partial))
    with pytest.raises(EngineError, match="vLLM on a CPU doesn't renew the head"):
        plain.publish(vllm.registry.get("moved-1"))
    assert sampled(ask(vllm.url, chat("Hello", max_tokens=3))).versions == [started_with.version]


def _version(vllm: VllmServed, root: Path, name: str, weights: dict[str, torch.Tensor]) -> PolicyVersion:
    return Registry(root).add(name, lambda path: write_successor(path, vllm.first.path, weights))
