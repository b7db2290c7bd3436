"""Publishing while requests go on, and publishing what must be refused."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import partial
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
from crosswind.policies.tiny.directory import write_successor
from crosswind.policies.tiny.model import initial_weights
from crosswind.policies.versions.version import METADATA, PolicyVersion, Registry
from tests.policies.asking import Read, ask, chat, publish, sampled, stream
from tests.policies.conftest import SPOILT, TEXTS, TOOLS, Served, add_random, add_successor

STREAMS, LENGTH, ATTEMPTS = 32, 120, 10
"""Where the engine is faster than what publishes to it, so that no stream sees a swap, there are further
attempts.
"""


async def test_swaps_drop_nothing_and_every_token_knows_its_version(served: Served) -> None:
    versions = cycle([served.registry.get(f"random-{step}") for step in (1, 2, 0)])
    order, read, attempt = ["random-0"], list[Read](), 0
    async with httpx.AsyncClient(timeout=120, limits=httpx.Limits(max_connections=64)) as http:
        while not any(len(one.spans) > 1 for one in read):
            assert attempt < ATTEMPTS, "no stream is long enough to see a swap"
            seeds = range(STREAMS * attempt, STREAMS * (attempt + 1))
            bodies = [
                chat(f"Tell me of order #W{seed:04d}.", tools=TOOLS, max_tokens=LENGTH, seed=seed)
                for seed in seeds
            ]
            streams = [asyncio.create_task(stream(http, served.url, body)) for body in bodies]
            while not all(one.done() for one in streams):
                version = next(versions)
                assert (await publish(http, served.url, version))["version"] == version.version
                order.append(version.version)
            read += await asyncio.gather(*streams)
            attempt += 1
    for one in read:
        assert one.finish in ("length", "stop", "tool_calls")
        assert len(one.tokens) == one.usage["completion_tokens"]
        one.assert_spans_follow(order)
    assert served.client.health().swaps == len(order) - 1


def test_after_a_swap_the_new_weights_and_none_of_the_old_keys_serve(served: Served) -> None:
    second = served.registry.get("random-1")
    body = chat("Hello there", max_tokens=12, seed=4)
    before = sampled(ask(served.url, body))
    served.client.publish(second)
    after = sampled(ask(served.url, body))
    assert after.tokens != before.tokens
    assert after.usage["prompt_tokens_details"]["cached_tokens"] == 0
    for version, read in ((second, after), (served.first, before)):
        served.client.publish(version)
        probe = Probe([read.prompt], [read.tokens], [read.logprobs])
        found = confirm(served.client, version.version, probe)
        assert found.difference.tokens == len(read.tokens) and found.difference.largest < 1e-5


@SPOILT
def test_spoilt_weights_are_refused_and_the_old_version_serves_on(
    served: Served, tmp_path: Path, spoil: Callable[[dict[str, torch.Tensor]], None], reason: str
) -> None:
    bad = add_successor(Registry(tmp_path), served.first, "bad", spoil=spoil)
    _assert_refused(served, bad, reason)


def test_missing_and_changed_files_are_refused(served: Served, tmp_path: Path) -> None:
    registry = Registry(tmp_path)
    for name in ("model.safetensors", METADATA, "tokenizer.json"):
        bad = add_successor(registry, served.first, f"without-{name}")
        (bad.path / name).unlink()
        _assert_refused(served, bad, "can't be read")
    torn = add_successor(registry, served.first, "torn")
    weights = torn.path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    _assert_refused(served, torn, "checksum")
    _assert_refused(served, PolicyVersion("nowhere", tmp_path / "nowhere"), "can't be read")
    _assert_refused(served, PolicyVersion("renamed", served.first.path), "holds version 'random-0'")


def test_another_vocabulary_is_refused(served: Served, tmp_path: Path) -> None:
    texts = [*TEXTS, "quite other words than those of the first, often often often " * 3]
    _assert_refused(served, add_random(Registry(tmp_path), "other", texts), "tokenizer")


def _change_config(directory: Path, **changes: Any) -> None:
    config = json.loads((directory / "config.json").read_text())
    (directory / "config.json").write_text(json.dumps(config | changes))


def _other_template(directory: Path) -> None:
    with (directory / "chat_template.jinja").open("a") as template:
        template.write("{# another one #}")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            partial(_change_config, model_type="granite"),
            "'model_type' is 'granite': the embedded engine serves qwen3, .* serve it with vLLM",
        ),
        (partial(_change_config, vocab_size=8), "config.json says Shape.*this engine serves Shape"),
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
    assert sampled(ask(served.url, chat("Hello", max_tokens=3))).versions == ["random-0"]


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
