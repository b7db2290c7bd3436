"""What keeps vLLM from sampling from the policy's own distribution, held against transformers' figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from tests.gateway.servers import Running, gateway
from tests.policies.conftest import TOOLS
from tests.policies.rollouts import open_rollout
from tests.policies.vllm.conftest import Reciting
from tests.policies.vllm.recorded import CHAT, assert_true, post, turns
from tests.policies.vllm.reference import furthest, logprobs
from tests.vllm_server import VllmServed

pytestmark = pytest.mark.vllm

STRICT = [{**tool, "function": {**tool["function"], "strict": True}} for tool in TOOLS]
NAMED = {"type": "function", "function": {"name": "ping"}}
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}

KNOBS: dict[str, Any] = {
    "top_p": 0.5,
    "top_k": 3,
    "min_p": 0.3,
    "frequency_penalty": 1.5,
    "presence_penalty": 1.5,
    "repetition_penalty": 1.5,
    "logit_bias": {str(token): 5 for token in range(200)},
    "min_tokens": 20,
}
FORCED: dict[str, tuple[str, dict[str, Any]]] = {
    "json_schema": (
        "thought",
        {"response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": SCHEMA}}},
    ),
    "json_object": ("thought", {"response_format": {"type": "json_object"}}),
    "regex": ("thought", {"structured_outputs": {"regex": "[0-9]{5}"}}),
    "allowed tokens": ("thought", {"allowed_token_ids": [5, 6, 7, 8]}),
    "a call is required": ("half a call", {"tools": TOOLS, "tool_choice": "required"}),
    "a named call": ("two calls", {"tools": TOOLS, "tool_choice": NAMED}),
    "strict arguments": ("arguments out of the schema", {"tools": STRICT}),
    "one call": ("two calls", {"tools": TOOLS, "parallel_tool_calls": False}),
}
"""What the policy would say by itself, and what keeps it from that."""

FREE: dict[str, dict[str, Any]] = {
    "tools": {"tools": TOOLS, "tool_choice": "auto", "parallel_tool_calls": True},
    "strict tools that aren't called": {"tools": STRICT, "tool_choice": "none"},
    "text": {"response_format": {"type": "text"}},
    "no end": {"ignore_eos": True, "stop": ["nothing"]},
}
_FAR = 0.01
"""Rounding is below 1e-4."""


async def _turn(running: Running, session: str, asked: str, more: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "user", "content": asked}
    body = {"model": "policy", "messages": [message], "max_tokens": 24, "seed": 0, **more}
    response = await post(running, session, CHAT, body)
    assert response.status_code == 200, response.text
    (turn,) = await turns(running, session)
    return turn


def _words(turn: dict[str, Any], path: Path) -> list[str]:
    """What was sampled, token by token: words that the policy would say."""
    tokenizer = Tokenizer.from_file(str(path / "tokenizer.json"))
    (completion,) = turn["completions"]
    return sorted({tokenizer.decode([token]).strip() for token in completion["token_ids"]} - {""})


def _apart(turn: dict[str, Any], path: Path) -> float:
    (completion,) = turn["completions"]
    theirs = logprobs(path, turn["prompt_ids"], completion["token_ids"])
    return furthest(completion["logprobs"], theirs)


async def test_knobs_bend_log_probabilities_and_are_neutralised_where_they_train(
    tmp_path: Path, vllm: VllmServed
) -> None:
    asked = "Cancel #W9 please, it is broken."
    async with gateway(tmp_path, vllm.url, capture="on") as running:
        said = _words(await _turn(running, "free", asked, {}), vllm.first.path)
        for name, value in {**KNOBS, "bad_words": said}.items():
            left = await _turn(running, f"left-{name}", asked, {name: value})
            assert left["fitness"] == "constrained_sampling"
            assert _apart(left, vllm.first.path) > _FAR, name
            assert_true(
                await _turn(running, await open_rollout(running), asked, {name: value}), vllm.first.path
            )


async def test_what_a_grammar_or_a_mask_forces_is_unfit(tmp_path: Path, recites: Reciting) -> None:
    async with gateway(tmp_path, recites.url) as running:
        for name, (asked, more) in FORCED.items():
            turn = await _turn(running, await open_rollout(running), asked, more)
            assert turn["fitness"] == "constrained_sampling"
            assert _apart(turn, recites.path) > _FAR, name
        for more in FREE.values():
            turn = await _turn(running, await open_rollout(running), "two calls", more)
            assert_true(turn, recites.path)
