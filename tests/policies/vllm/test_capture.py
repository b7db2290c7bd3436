"""Token-true capture of chats with real vLLM: what is on record is what was sampled, and the client sees none
of what was asked for the record's sake.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.gateway.servers import gateway
from tests.policies.asking import ask, sampled
from tests.policies.conftest import TOOLS
from tests.policies.rollouts import STREAMED, open_rollout
from tests.policies.vllm.conftest import Reciting
from tests.policies.vllm.reciting import ANSWERS
from tests.policies.vllm.recorded import (
    CAPTURE,
    CHAT,
    assert_true,
    message_of,
    post,
    post_bare,
    shapes,
    turns,
)
from tests.policies.vllm.reference import furthest
from tests.vllm_server import VllmServed

pytestmark = pytest.mark.vllm

THINKING = {"tools": None, "chat_template_kwargs": {"thinking": True}}


def body(asked: str, **more: Any) -> dict[str, Any]:
    message = {"role": "user", "content": asked}
    whole = {"model": "policy", "messages": [message], "tools": TOOLS, "max_tokens": 60, "seed": 1, **more}
    return {name: value for name, value in whole.items() if value is not None}


@STREAMED
async def test_what_is_recorded_is_what_was_sampled(tmp_path: Path, recites: Reciting, stream: bool) -> None:
    """Parallel calls and an engine's oddities too: a `tool_calls` finish with half a call, arguments that are
    no object or of no tool's schema, raw call text in the content, or left out of it in a stream.
    """
    async with gateway(tmp_path, recites.url) as running:
        for asked in ANSWERS:
            asking = body(asked, stream=stream)
            truth = sampled(ask(recites.url, body(asked, logprobs=True, return_token_ids=True)))
            without = post_bare(recites.url, CHAT, asking)
            session = await open_rollout(running)
            given = await post(running, session, CHAT, asking)
            (turn,) = await turns(running, session)
            assert_true(turn, recites.path)
            (completion,) = turn["completions"]
            assert (turn["prompt_ids"], completion["token_ids"]) == (truth.prompt, truth.tokens)
            assert furthest(completion["logprobs"], truth.logprobs) < 1e-5
            assert message_of(given) == message_of(without)
            assert turn["finish_reason"] == message_of(without)["finish_reason"]
            bare_shapes = shapes(without)
            for shape in shapes(given):
                assert not shape & CAPTURE and any(shape <= other for other in bare_shapes)


async def test_odd_answers_are_as_odd_as_vllm_makes_them(recites: Reciting) -> None:
    """What the tests above and below rely on."""
    said = {asked: message_of(post_bare(recites.url, CHAT, body(asked))) for asked in ANSWERS}
    streamed = {
        asked: message_of(post_bare(recites.url, CHAT, body(asked, stream=True))) for asked in ANSWERS
    }
    assert [call["function"]["name"] for call in said["two calls"]["tool_calls"]] == [
        "get_order",
        "find_item",
    ]
    assert said["arguments of another type"]["tool_calls"][0]["function"]["arguments"] == "17733"
    assert said["arguments out of the schema"]["tool_calls"][0]["function"]["name"] == "fly"
    assert said["no JSON"]["content"] == ANSWERS["no JSON"] and "content" not in streamed["no JSON"]
    assert said["half a call"]["content"] == ANSWERS["half a call"]
    half = streamed["half a call"]
    assert half["finish_reason"] == "tool_calls" and "arguments" not in half["tool_calls"][0]["function"]


@STREAMED
async def test_reasoning_is_recorded_with_its_tokens(tmp_path: Path, recites: Reciting, stream: bool) -> None:
    async with gateway(tmp_path, recites.url) as running:
        session = await open_rollout(running)
        given = await post(running, session, CHAT, body("thought", stream=stream, **THINKING))
        said = message_of(given)
        assert (said["reasoning"], said["content"]) == ("I read the order.", "It is cancelled.")
        hidden = await open_rollout(running)
        silent = body("thought", stream=stream, include_reasoning=False, **THINKING)
        assert "reasoning" not in message_of(await post(running, hidden, CHAT, silent))
        (turn,), (other,) = await turns(running, session), await turns(running, hidden)
    assert_true(turn, recites.path)
    assert '"reasoning":"I read the order."' in turn["produced"]
    # vLLM keeps the ids to itself where reasoning is to be left out.
    assert other["fitness"] == "engine_no_tokens"


@STREAMED
async def test_every_choice_is_recorded(tmp_path: Path, vllm: VllmServed, stream: bool) -> None:
    asking = body("Hello there", n=3, stream=stream, max_tokens=16)
    async with gateway(tmp_path, vllm.url, capture_top=3) as running:
        session = await open_rollout(running)
        given = await post(running, session, CHAT, asking)
        (turn,) = await turns(running, session)
    assert given.status_code == 200 and b"token_id" not in given.content
    assert_true(turn, vllm.first.path)
    assert len({tuple(completion["token_ids"]) for completion in turn["completions"]}) == 3
    assert turn["entropy"]["estimate"] == "top_k"
    for completion in turn["completions"]:
        for token, logprob, likely in zip(
            completion["token_ids"], completion["logprobs"], completion["top_logprobs"], strict=True
        ):
            known = dict(likely)
            assert len(known) == 3
            if token in known:
                assert known[token] == pytest.approx(logprob, abs=1e-6)
            else:
                assert logprob <= min(known.values())


async def test_what_the_client_asked_for_stays(tmp_path: Path, recites: Reciting) -> None:
    own = {"logprobs": True, "top_logprobs": 2, "return_token_ids": True}
    async with gateway(tmp_path, recites.url, capture_top=3) as running:
        session = await open_rollout(running)
        given = (await post(running, session, CHAT, body("two calls", **own))).json()
        (turn,) = await turns(running, session)
    without = post_bare(recites.url, CHAT, body("two calls", **own)).json()
    assert given["prompt_token_ids"] == without["prompt_token_ids"]
    for name in ("token_ids", "logprobs"):
        assert given["choices"][0][name] == without["choices"][0][name]
    assert_true(turn, recites.path)
