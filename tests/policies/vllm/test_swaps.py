"""Publishing to real vLLM while requests go on."""

from __future__ import annotations

import asyncio
from itertools import cycle

import httpx
import pytest

from crosswind.policies.deployment.confirmation import Probe, confirm
from crosswind.policies.versions.version import PolicyVersion
from tests.policies.asking import Read, ask, chat, publish, sampled, stream
from tests.policies.vllm.reference import TOLERANCE, furthest, logprobs
from tests.vllm_server import VllmServed

pytestmark = pytest.mark.vllm

STREAMS, SWAPS, LENGTH, ATTEMPTS = 64, 20, 120, 400
"""Each client's streams have another length than the others', so that they don't all end at once. Where the
engine is faster than all that reads it and publishes to it, there are more swaps than `SWAPS`, up to
`ATTEMPTS`, until each client has seen one.
"""


async def test_swaps_under_load_drop_nothing(vllm: VllmServed) -> None:
    """64 clients stream one answer after the other while versions change, and notice nothing else."""
    moved = [vllm.registry.get(f"moved-{step}") for step in (1, 2, 3)]
    versions = cycle([*moved, vllm.first])
    published: list[PolicyVersion] = [vllm.first]
    streams: list[list[Read]] = [[] for _ in range(STREAMS)]
    swapped = asyncio.Event()
    limits = httpx.Limits(max_connections=STREAMS + 1)
    async with httpx.AsyncClient(timeout=300, limits=limits, trust_env=False) as http:

        async def client(number: int) -> None:
            read = streams[number]
            while not swapped.is_set():
                seed, length = 1000 * number + len(read), LENGTH + number
                body = chat(f"What about order #W{number:04d}?", seed=seed, max_tokens=length)
                read.append(await stream(http, vllm.url, body | {"ignore_eos": True}))

        clients = [asyncio.create_task(client(number)) for number in range(STREAMS)]
        under_load = 0
        while under_load < SWAPS or not all(map(_saw_a_swap, streams)):
            assert len(published) <= ATTEMPTS, "no stream is long enough to see a swap"
            published.append(next(versions))
            swap = await publish(http, vllm.url, published[-1])
            assert swap["version"] == published[-1].version
            under_load += bool(swap["in_flight"])
        swapped.set()
        await asyncio.gather(*clients)
        after = await stream(http, vllm.url, chat("Where is order #W1234?", max_tokens=40))
    order = [version.version for version in published]
    for number, reads in enumerate(streams):
        for read in reads:
            assert read.finish == "length"
            assert len(read.tokens) == read.usage["completion_tokens"] == LENGTH + number
            read.assert_spans_follow(order)
    assert after.versions == [order[-1]]
    assert furthest(after.logprobs, logprobs(published[-1].path, after.prompt, after.tokens)) < TOLERANCE


def _saw_a_swap(reads: list[Read]) -> bool:
    return any(len(read.spans) >= 2 for read in reads)


def test_what_is_sampled_follows_the_version_and_no_old_key_is_used(vllm: VllmServed) -> None:
    """The prefix cache hits within a version, and never across versions, not even back to an old one."""
    body = chat("Where is order #W1234, and what did I pay for it? " * 8, max_tokens=24, seed=3)
    for name in ("retail", "moved-1", "moved-2", "retail"):
        version = vllm.first if name == "retail" else vllm.registry.get(name)
        vllm.engine.publish(version)
        fresh, again = sampled(ask(vllm.url, body)), sampled(ask(vllm.url, body))
        assert fresh.versions == again.versions == [name]
        assert fresh.usage["prompt_tokens_details"]["cached_tokens"] == 0
        assert again.usage["prompt_tokens_details"]["cached_tokens"] > 0
        assert fresh.tokens == again.tokens
        expected = logprobs(version.path, fresh.prompt, fresh.tokens)
        assert furthest(fresh.logprobs, expected) < TOLERANCE
        probe = Probe([fresh.prompt], [fresh.tokens], [expected])
        assert confirm(vllm.engine, name, probe).difference.largest < TOLERANCE


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_log_probabilities_are_of_what_was_sampled_from(vllm: VllmServed, temperature: float) -> None:
    """At temperature t they are those of the logits over t; several choices, each with its own versions."""
    answer = ask(vllm.url, chat("Cancel order #W1234.", n=2, max_tokens=16, temperature=temperature, seed=5))
    for index in (0, 1):
        read = sampled(answer, index)
        expected = logprobs(vllm.first.path, read.prompt, read.tokens, temperature=temperature)
        assert furthest(read.logprobs, expected) < TOLERANCE
        assert read.spans == [{"version": "retail", "start": 0, "end": len(read.tokens)}]
