"""Publishing while requests go on, and publishing what must be refused."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import httpx
import pytest
import torch

from crosswind.policies.deployment.confirmation import Probe, confirm
from crosswind.policies.embedded.checkpoint import read_shape
from crosswind.policies.engine import Engine, EngineError
from crosswind.policies.publishers.embedded import EmbeddedEngine
from crosswind.policies.tiny.directory import write_policy, write_successor
from crosswind.policies.tiny.model import Shape, initial_weights
from crosswind.policies.tiny.tokenizer import train_tokenizer
from crosswind.policies.versions.version import METADATA, PolicyVersion, Registry
from tests.policies.conftest import TEXTS, TOOLS, Served, add_successor

STREAMS, LENGTH, ATTEMPTS = 32, 120, 10
"""Where the engine is faster than what publishes to it, so that no stream sees a swap, there are further
attempts.
"""


async def _read_stream(http: httpx.AsyncClient, url: str, seed: int) -> dict[str, Any]:
    """One streamed completion that can't end early: its tokens, its finish and its usage."""
    body = {
        "messages": [{"role": "user", "content": f"Tell me all about order #W{seed:04d}."}],
        "tools": TOOLS,
        "max_tokens": LENGTH,
        "seed": seed,
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_token_ids": True,
        "logprobs": True,
    }
    read: dict[str, Any] = {"tokens": [], "logprobs": [], "finish": None, "spans": None, "usage": None}
    async with http.stream("POST", f"{url}/v1/chat/completions", json=body) as response:
        async for line in response.aiter_lines():
            if not line or line == "data: [DONE]":
                continue
            chunk = json.loads(line.removeprefix("data: "))
            read["usage"] = chunk.get("usage") or read["usage"]
            for choice in chunk["choices"]:
                read["tokens"] += choice.get("token_ids", [])
                read["logprobs"] += (choice["logprobs"] or {"content": []})["content"]
                read["finish"] = choice["finish_reason"] or read["finish"]
                read["spans"] = choice.get("weight_versions") or read["spans"]
    return read


async def test_swaps_drop_nothing_and_every_token_knows_its_version(served: Served) -> None:
    versions = cycle([served.registry.get(f"random-{step}") for step in (1, 2, 0)])
    order, read, attempt = ["random-0"], list[dict[str, Any]](), 0
    async with httpx.AsyncClient(timeout=120, limits=httpx.Limits(max_connections=64)) as http:
        while not any(len(stream["spans"]) > 1 for stream in read):
            assert attempt < ATTEMPTS, "no stream is long enough to see a swap"
            seeds = range(STREAMS * attempt, STREAMS * (attempt + 1))
            streams = [asyncio.create_task(_read_stream(http, served.url, seed)) for seed in seeds]
            while not all(stream.done() for stream in streams):
                version = next(versions)
                body = {"version": version.version, "path": str(version.path)}
                swap = (await http.post(f"{served.url}/policy/publish", json=body)).json()
                assert swap["version"] == version.version
                order.append(version.version)
            read += await asyncio.gather(*streams)
            attempt += 1
    for stream in read:
        assert stream["finish"] in ("length", "stop", "tool_calls")
        assert len(stream["tokens"]) == len(stream["logprobs"]) == stream["usage"]["completion_tokens"]
        spans = stream["spans"]
        assert [span["start"] for span in spans] == [0, *(span["end"] for span in spans[:-1])]
        assert spans[-1]["end"] == len(stream["tokens"]) and all(
            span["start"] < span["end"] for span in spans
        )
        _assert_in_order([span["version"] for span in spans], order)
    assert served.client.health().swaps == len(order) - 1


def _assert_in_order(seen: list[str], published: list[str]) -> None:
    """`seen` is part of `published`, in its order."""
    rest = iter(published)
    assert all(version in rest for version in seen), (seen, published)


def test_after_a_swap_the_new_weights_and_none_of_the_old_keys_serve(served: Served) -> None:
    second = served.registry.get("random-1")
    body = {"messages": [{"role": "user", "content": "Hello there"}], "max_tokens": 12, "seed": 4}
    body |= {"logprobs": True, "return_token_ids": True}

    def ask() -> dict[str, Any]:
        answer: dict[str, Any] = httpx.post(f"{served.url}/v1/chat/completions", json=body, timeout=60).json()
        return answer

    before = ask()
    served.client.publish(second)
    after = ask()
    assert after["choices"][0]["token_ids"] != before["choices"][0]["token_ids"]
    assert after["usage"]["prompt_tokens_details"]["cached_tokens"] == 0
    for version, answer in ((second, after), (served.first, before)):
        served.client.publish(version)
        choice = answer["choices"][0]
        found = confirm(
            served.client,
            version.version,
            Probe(
                [answer["prompt_token_ids"]],
                [choice["token_ids"]],
                [[entry["logprob"] for entry in choice["logprobs"]["content"]]],
            ),
        )
        assert found.tokens == len(choice["token_ids"])
        assert found.max_difference < 1e-5


def _infinite(weights: dict[str, torch.Tensor]) -> None:
    weights["model.layers.1.mlp.up_proj.weight"][3, 5] = float("nan")


def _misshapen(weights: dict[str, torch.Tensor]) -> None:
    weights["model.norm.weight"] = torch.ones(64)


def _partial(weights: dict[str, torch.Tensor]) -> None:
    del weights["model.layers.0.self_attn.q_norm.weight"]


def _integer(weights: dict[str, torch.Tensor]) -> None:
    weights["extra.weight"] = torch.ones(2)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (_infinite, "not finite"),
        (_misshapen, r"model.norm.weight has shape \(64,\), must have \(128,\)"),
        (_partial, "missing: .*q_norm"),
        (_integer, "unknown: .*extra"),
    ],
)
def test_spoilt_weights_are_refused_and_the_old_version_serves_on(
    served: Served, tmp_path: Path, spoil: Callable[[dict[str, torch.Tensor]], None], reason: str
) -> None:
    bad = add_successor(Registry(tmp_path), served.first, "bad", spoil=spoil)
    _assert_refused(served, bad, reason)


def test_missing_and_changed_files_are_refused(served: Served, tmp_path: Path) -> None:
    registry = Registry(tmp_path)
    for number, (name, reason) in enumerate(
        [
            ("model.safetensors", "can't be read"),
            (METADATA, "can't be read"),
            ("tokenizer.json", "can't be read"),
        ]
    ):
        bad = add_successor(registry, served.first, f"bad-{number}")
        (bad.path / name).unlink()
        _assert_refused(served, bad, reason)
    torn = add_successor(registry, served.first, "torn")
    weights = torn.path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    _assert_refused(served, torn, "checksum")
    _assert_refused(served, PolicyVersion("nowhere", tmp_path / "nowhere"), "can't be read")
    _assert_refused(served, PolicyVersion("renamed", served.first.path), "holds version 'random-0'")


def test_another_vocabulary_is_refused(served: Served, tmp_path: Path) -> None:
    tokenizer = train_tokenizer([*TEXTS, "quite other words than those of the first, often often often " * 3])
    shape = Shape(tokenizer.get_vocab_size())
    other = Registry(tmp_path).add(
        "other", lambda path: write_policy(path, shape, initial_weights(shape, 0), tokenizer)
    )
    _assert_refused(served, other, "tokenizer")


def _other_architecture(directory: Path) -> None:
    config = json.loads((directory / "config.json").read_text())
    (directory / "config.json").write_text(json.dumps(config | {"model_type": "llama"}))


def _other_sizes(directory: Path) -> None:
    config = json.loads((directory / "config.json").read_text())
    (directory / "config.json").write_text(json.dumps(config | {"vocab_size": config["vocab_size"] + 8}))


def _other_template(directory: Path) -> None:
    with (directory / "chat_template.jinja").open("a") as template:
        template.write("{# another one #}")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_other_architecture, "model_type is 'llama', this engine serves 'qwen3' only"),
        (_other_sizes, "config.json says Shape.*this engine serves Shape"),
        (_other_template, "its chat template isn't the one that is served"),
    ],
)
def test_what_another_engine_would_be_needed_for_is_refused(
    served: Served, tmp_path: Path, change: Callable[[Path], None], reason: str
) -> None:
    """Whole and unchanged by its checksum: written so."""

    def write(directory: Path) -> None:
        write_successor(directory, served.first.path, initial_weights(read_shape(served.first.path), 1))
        change(directory)

    _assert_refused(served, Registry(tmp_path).add("other", write), reason)


def _assert_refused(served: Served, version: PolicyVersion, reason: str) -> None:
    with pytest.raises(EngineError, match=reason):
        served.client.publish(version)
    health = served.client.health()
    assert (health.version, health.swaps) == ("random-0", 0)
    body = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 3}
    answer = httpx.post(f"{served.url}/v1/chat/completions", json=body, timeout=60).json()
    assert answer["choices"][0]["weight_versions"][0]["version"] == "random-0"


def test_the_client_is_an_engine(served: Served) -> None:
    engine: Engine = served.client
    health = engine.health()
    assert (health.version, health.step, health.swaps) == ("random-0", 0, 0)
    published = engine.publish(served.registry.get("random-2"))
    assert published.version == "random-2" and published.swap_ms >= 0
    health = engine.health()
    assert (health.version, health.step, health.swaps, health.in_flight) == ("random-2", 2, 1, 0)
    assert health.checksum == served.registry.get("random-2").checksum and health.context


def test_confirm_refuses_another_version_and_an_engine_that_is_gone(served: Served) -> None:
    with pytest.raises(EngineError, match="serves version 'random-0', not 'random-1'"):
        confirm(served.client, "random-1", Probe([[1]], [[2]], [[0.0]]))
    with (
        EmbeddedEngine("http://127.0.0.1:9", timeout=2) as gone,
        pytest.raises(EngineError, match="is the engine up"),
    ):
        gone.health()


def test_score_rejects_what_it_cannot_score(served: Served) -> None:
    for sequence, reason in [
        ({"prompt_token_ids": [], "completion_token_ids": [1]}, "at least one token"),
        ({"prompt_token_ids": [1], "completion_token_ids": [10**6]}, "ids are integers from 0"),
        (
            {"prompt_token_ids": [1] * 1020, "completion_token_ids": [1] * 10},
            "1030 tokens: at most 1024",
        ),
    ]:
        response = httpx.post(f"{served.url}/policy/score", json={"sequences": [sequence]})
        assert response.status_code == 400
        assert reason in response.json()["error"]["message"]
