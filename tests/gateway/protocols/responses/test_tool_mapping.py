"""What only Responses has of tools shown otherwise: items of reasoning, and histories held upstream."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from crosswind.testing import Answer
from tests.gateway.agents import QUESTION, LinkedAgent, ResponsesAgent, calling, function, names, play
from tests.gateway.closed_world import ABBREVIATED, TOOL

STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])


@STREAMED
async def test_reasoning_goes_with_its_call(tmp_path: Path, stream: bool) -> None:
    """Sealed reasoning whose only call is a phantom is the policy's alone; it comes back with the call."""
    sealed: Any = {"store": False, "include": ["reasoning.encrypted_content"]}
    make = partial(ResponsesAgent, stream=stream, **sealed)
    steps = calling(1), calling(0), Answer("Two orders.")
    async with play(tmp_path, make, ABBREVIATED, *steps) as (app, _, agent):
        reasoning, call = (await agent.ask()).whole.output
        assert (reasoning.type, call.type) == ("reasoning", "function_call")
        assert reasoning.summary[0].text == "Thought 3."
        await agent.answer_calls()
        sent = app.bodies(agent.path)[2]["input"]
        assert [one.get("type", "message") for one in sent] == [
            "message",
            *["reasoning", "function_call", "function_call_output"] * 2,
        ]
        assert all(one["encrypted_content"] for one in sent if one.get("type") == "reasoning")


async def test_a_linked_turn_goes_on_from_the_last_round(tmp_path: Path) -> None:
    async with play(tmp_path, LinkedAgent, ABBREVIATED, calling(1), calling(0), Answer("Two.")) as (
        app,
        _,
        agent,
    ):
        first = await agent.ask()
        await agent.answer_calls()
        kept = app.bodies(agent.path)[2]["previous_response_id"]
        assert kept in app.stored.responses and kept != first.id


async def test_a_string_of_input_goes_on_as_an_item(tmp_path: Path) -> None:
    async with play(tmp_path, ResponsesAgent, ABBREVIATED, calling(1), calling(0)) as (app, _, agent):
        response = await agent.sdk.responses.create(model="m", input=QUESTION, tools=[function()])
        assert [item.name for item in response.output] == [TOOL]
        assert app.bodies(agent.path)[1]["input"][0] == {"role": "user", "content": QUESTION}


async def test_what_the_upstream_holds_is_made_whole_after_the_noise_was_stopped(tmp_path: Path) -> None:
    steps = calling(1, 0), Answer("Two orders.")
    async with play(tmp_path, LinkedAgent, ABBREVIATED, *steps) as (app, running, agent):
        await agent.ask()
        await running.api("PUT", "/api/noise", {"enabled": False})
        assert (await agent.answer_calls()).text == "Two orders."
        assert names(app.dialogues[1]) == [TOOL]


@STREAMED
async def test_a_round_is_put_back_between_two_equal_messages(tmp_path: Path, stream: bool) -> None:
    make = partial(ResponsesAgent, stream=stream)
    steps = (calling(which, text="Let me see.") for which in (0, 1, 0))
    async with play(tmp_path, make, ABBREVIATED, *steps, Answer("Two orders.")) as (app, _, agent):
        await agent.ask()
        assert (await agent.answer_calls()).text == "Let me see.Let me see."
        await agent.answer_calls()
        await agent.ask("And what else?")
        assert len(app.requests) == 5
