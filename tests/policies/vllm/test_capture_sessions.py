"""Capture over sessions with real vLLM: many turns, noise on, swaps in between."""

from __future__ import annotations

import asyncio
import json
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

import pytest

from crosswind.gateway.trajectory.prefixes import CAUSES, check_by_model
from tests.gateway.servers import Running, gateway
from tests.policies.asking import Read
from tests.policies.conftest import TOOLS
from tests.policies.rollouts import open_rollout
from tests.policies.vllm.conftest import Reciting
from tests.policies.vllm.dialogues import EVERYWHERE, FAULTS, lead, say
from tests.policies.vllm.reciting import ANSWERS
from tests.policies.vllm.recorded import CHAT, assert_true, post, turns
from tests.policies.vllm.reference import TOLERANCE, furthest, logprobs

pytestmark = pytest.mark.vllm

ROUNDS, SESSIONS = 8, 6
STREAMS, TOKENS, TURNS = 8, 600, 20
BLOCK = 128
"""Tokens that vLLM's CPU build keeps together; other builds keep fewer."""


def profile(folder: Path, text: str) -> str:
    file = folder / "profile.yaml"
    file.write_text(text)
    return str(file)


async def test_long_noisy_sessions_are_true_turn_by_turn(tmp_path: Path, recites: Reciting) -> None:
    async with gateway(tmp_path, recites.url, profile=profile(tmp_path, EVERYWHERE)) as running:
        session = await open_rollout(running, arm="noisy")
        await lead(running, session, "What is the status of order #W1234, please?", ROUNDS, seed=1)
        recorded = await turns(running, session)
        found = check_by_model([running.gateway.store.turns(session)])["policy"]
    assert len(recorded) == ROUNDS and any(turn["sent"] != turn["received"] for turn in recorded)
    for turn in recorded:
        assert_true(turn, recites.path)
    assert found.pairs == ROUNDS - 1
    # Whatever vLLM's parser and template make of it, the record says who broke it.
    assert set(found.causes()) <= set(CAUSES) - {"unknown"}


async def test_odd_answers_survive_the_round_trip_with_noise_on(tmp_path: Path, recites: Reciting) -> None:
    """The policy meets again what it said, as the client gives it back, beside the noise."""
    async with gateway(tmp_path, recites.url, profile=profile(tmp_path, FAULTS)) as running:
        touched = set()
        for asked in ANSWERS:
            session = await open_rollout(running, arm="noisy")
            messages: list[dict[str, Any]] = [{"role": "user", "content": asked}]
            await say(running, session, messages, seed=1, max_tokens=60)
            if messages[-1]["role"] == "assistant":
                messages.append({"role": "user", "content": "And then?"})
            await say(running, session, messages, seed=2)
            first, second = await turns(running, session)
            assert_true(first, recites.path)
            assert_true(second, recites.path)
            sent, given = json.loads(second["sent"])["messages"], json.loads(second["received"])["messages"]
            assert sent[1] == given[1]
            produced = json.loads(first["produced"])["choices"][0]["message"]
            assert produced == given[1] | {name: None for name in produced if name not in given[1]}
            changed = [clean for shown, clean in zip(sent, given, strict=True) if shown != clean]
            assert all(message["role"] == "tool" for message in changed)
            touched |= {asked} if changed else set()
    assert {"two calls", "arguments of another type"} <= touched


async def test_a_turn_across_a_swap_says_which_version_sampled_what(
    tmp_path: Path, recites: Reciting
) -> None:
    """Streamed and plain. What was sampled before the swap is the first version's, to the last digit."""
    publish, versions = recites.served.engine.publish, cycle([recites.served.first, recites.version])
    order, recorded = [recites.version.version], list[dict[str, Any]]()
    async with gateway(tmp_path, recites.url) as running:

        async def client(at: int) -> None:
            """Turn after turn, until one of any client's has seen a swap: the machine says how fast."""
            for _ in range(TURNS):
                session = await open_rollout(running)
                await _long(running, session, at)
                recorded.extend(await turns(running, session))
                if any(turn["policy_first"] != turn["policy_last"] for turn in recorded):
                    return
            pytest.fail("no turn is long enough to see a swap")

        clients = [asyncio.create_task(client(at)) for at in range(STREAMS)]
        while not all(task.done() for task in clients):
            version = next(versions)
            await asyncio.to_thread(publish, version)
            order.append(version.version)
        await asyncio.gather(*clients)
    for turn in recorded:
        (completion,) = turn["completions"]
        spans, ids = completion["versions"], completion["token_ids"]
        assert (turn["fitness"], len(ids)) == ("fit", TOKENS)
        read = Read(tokens=ids, logprobs=completion["logprobs"], spans=spans)
        read.assert_spans_follow(order)
        named = read.versions
        assert (turn["policy_first"], turn["policy_last"]) == (named[0], named[-1])
        if named[0] == recites.version.version:
            end = spans[0]["end"]
            theirs = logprobs(recites.path, turn["prompt_ids"], ids[:end])
            assert furthest(completion["logprobs"][:end], theirs) < TOLERANCE


async def _long(running: Running, session: str, at: int) -> None:
    message = {"role": "user", "content": f"Tell me all about order #W{at:04d}."}
    asked = {"model": "policy", "messages": [message], "tools": TOOLS, "seed": at, "stream": at % 2 == 0}
    response = await post(running, session, CHAT, asked | {"max_tokens": TOKENS, "ignore_eos": True})
    assert response.status_code == 200


@pytest.mark.parametrize(("arm", "text"), [("clean", None), ("noisy", EVERYWHERE)])
async def test_noise_costs_the_prefix_cache_nothing(
    tmp_path: Path, recites: Reciting, arm: str, text: str | None
) -> None:
    """The prompt before is the beginning of each prompt, and vLLM computes no whole block of it again."""
    name = profile(tmp_path, text) if text else "off"
    reused = 0
    async with gateway(tmp_path, recites.url, profile=name) as running:
        for at in range(SESSIONS):
            session = await open_rollout(running, arm=arm, seed=at)
            first = f"What is the status of order #{'WX'[arm == 'noisy']}{at:04d}, please?"
            answers = await lead(running, session, first, ROUNDS, seed=100 * at)
            recorded = await turns(running, session)
            views = [[json.loads(one[name])["messages"] for name in ("received", "sent")] for one in recorded]
            assert any(sent != received for received, sent in views) == (arm == "noisy")
            for answer, (before, turn) in zip(answers[1:], pairwise(recorded), strict=True):
                known = before["prompt_ids"]
                assert turn["prompt_ids"][: len(known)] == known
                cached = answer["usage"]["prompt_tokens_details"]["cached_tokens"]
                assert cached >= len(known) // BLOCK * BLOCK
                reused += cached
    assert reused > 0
