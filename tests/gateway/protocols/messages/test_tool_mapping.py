"""What only Messages has of tools shown otherwise: blocks, thinking, and texts that clients join."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import anthropic
import pytest

from crosswind.testing import Answer, ProviderError
from tests.gateway.agents import MessagesAgent, calling, play
from tests.gateway.closed_world import ABBREVIATED

STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])


@STREAMED
async def test_thinking_goes_back_to_its_round_and_results_come_first(tmp_path: Path, stream: bool) -> None:
    make = partial(MessagesAgent, stream=stream)
    steps = calling(1, text="Let me see."), calling(0, text="So then."), Answer("Two orders.")
    async with play(tmp_path, make, ABBREVIATED, *steps) as (app, _, agent):
        content = (await agent.ask()).whole.content
        assert [block.type for block in content] == ["thinking", "text", "thinking", "text", "tool_use"]
        assert agent.last.whole.stop_reason == "tool_use"
        (results,) = agent._results([(content[-1].id, "W1")])
        results["content"].append({"type": "text", "text": "And be quick."})
        await agent.turn(results)
        _, inner, later = (body["messages"] for body in app.bodies(agent.path))
        assert inner[2]["content"][0]["tool_use_id"] == inner[1]["content"][-1]["id"]
        assert later[: len(inner)] == inner, "the next turn goes on from what the policy met"
        assert [block["type"] for block in later[3]["content"]] == ["thinking", "text", "tool_use"]
        assert len(later) == 5


async def test_a_cache_marker_stays_on_its_tool(tmp_path: Path) -> None:
    async with play(tmp_path, MessagesAgent, ABBREVIATED, Answer("Fine.")) as (app, _, agent):
        await agent.ask()
        (asked,) = app.bodies(agent.path)
        assert [tool.get("cache_control") for tool in asked["tools"]].count(None) == 1


@STREAMED
async def test_texts_that_the_client_joined_are_parted_again(tmp_path: Path, stream: bool) -> None:
    """As clients do that keep an answer's text alone."""
    make = partial(MessagesAgent, stream=stream)
    steps = calling(1, text="Let me see."), Answer("Two orders."), Answer("Fine.")
    async with play(tmp_path, make, ABBREVIATED, *steps) as (app, _, agent):
        agent.history[-1:] = [{"role": "assistant", "content": (await agent.ask()).text}]
        await agent.ask("Thanks.", thinking={"type": "disabled"})
        _, inner, later = (body["messages"] for body in app.bodies(agent.path))
        assert later[: len(inner)] == inner
        assert later[3]["content"] == [{"type": "text", "text": "Two orders."}]


@STREAMED
async def test_an_error_in_an_inner_round_is_told(tmp_path: Path, stream: bool) -> None:
    make = partial(MessagesAgent, stream=stream)
    steps = calling(1, text="Let me see."), Answer(error=ProviderError(529, "Overloaded"))
    async with play(tmp_path, make, ABBREVIATED, *steps) as (app, _, agent):
        with pytest.raises(anthropic.APIStatusError):
            await agent.ask()
        app.refusals.clear()
