"""The agent on the real SDK, against a real HTTP server: plain and streamed answers, bad calls, errors."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from openai import AsyncOpenAI

from crosswind.simulators.environment import Verdict, load
from crosswind.simulators.episodes.agent import AgentSettings, ToolAgent
from crosswind.simulators.episodes.demonstrations import play
from crosswind.simulators.episodes.record import Playthrough
from crosswind.testing import Answer, DecideMessage, ProviderError, ScriptedProvider, answer_messages

RETAIL = load("retail")


async def played_by(
    decide: DecideMessage | Answer, task_id: str, settings: AgentSettings
) -> tuple[Playthrough, Verdict, list[dict[str, Any]]]:
    """One episode of the agent with a model that decides so; also the request bodies."""
    step = decide if isinstance(decide, Answer) else answer_messages(decide)
    async with ScriptedProvider(step, strict=False) as server:
        client = AsyncOpenAI(base_url=server.base_url, api_key="any", max_retries=0)
        agent = ToolAgent(RETAIL, settings)
        episode = RETAIL.reset(RETAIL.task(task_id), 0)
        try:
            played = await agent.play(client, episode, ("seed", 1))
            return played, episode.verify(), [request.json for request in server.requests]
        finally:
            episode.close()
            await client.close()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("number", range(13))
async def test_the_agent_relays_what_the_model_decides(number: int, stream: bool) -> None:
    task_id = f"retail-test-{number:05d}"
    expected, _ = play(RETAIL.reset(RETAIL.task(task_id), 0), RETAIL.oracle(), RETAIL.instructions)
    answers = [message for message in expected if message["role"] == "assistant"]
    settings = AgentSettings(stream=stream)
    played, verdict, requests = await played_by(RETAIL.oracle().decide, task_id, settings)
    assert verdict.reward == 1.0 and played.error is None
    assert played.turns == len(answers) == len(requests)
    assert played.tool_calls == sum(len(answer.get("tool_calls", ())) for answer in answers)
    assert played.output_tokens >= len(answers)
    assert requests[-1]["messages"] == expected[:-1]
    assert requests[0]["tools"] == list(RETAIL.tools)


async def test_seeds_differ_by_turn_and_repeat_by_run() -> None:
    runs = [await played_by(RETAIL.oracle().decide, "retail-test-00003", AgentSettings()) for _ in range(2)]
    seeds = [[request["seed"] for request in requests] for _, _, requests in runs]
    assert seeds[0] == seeds[1]
    assert len(set(seeds[0])) == len(seeds[0]) > 1
    assert {request["temperature"] for request in runs[0][2]} == {1.0}


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("get_order", '{"order_id": ', "arguments are not JSON"),
        ("get_order", '{"id": "#W0000"}', "order_id is missing"),
        ("drop_tables", "{}", "there is no tool drop_tables"),
    ],
)
async def test_a_bad_call_comes_back_as_an_error_that_the_model_can_read(
    name: str, arguments: str, error: str
) -> None:
    def decide(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
        if messages[-1]["role"] == "tool":
            return {"role": "assistant", "content": "I failed."}
        function = {"name": name, "arguments": arguments}
        call = {"id": "call_0", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    played, verdict, requests = await played_by(decide, "retail-test-00000", AgentSettings())
    assert json.loads(requests[-1]["messages"][-1]["content"]) == {"error": error}
    assert played.error is None and verdict.reward == 0.0


async def test_a_model_that_never_ends_is_stopped() -> None:
    played, verdict, requests = await played_by(
        lambda *_: {"role": "assistant", "content": "Which one?"},
        "retail-test-00000",
        AgentSettings(max_turns=3),
    )
    assert played.turns == len(requests) == 3 and verdict.reward == 0.0


@pytest.mark.parametrize(
    ("status", "code", "error"),
    [
        (500, "server_error", "InternalServerError 500"),
        (409, "session_closed", "ConflictError 409"),
        (400, "context_length_exceeded", None),
    ],
)
async def test_an_error_of_the_infrastructure_is_told_from_the_models_own(
    status: int, code: str, error: str | None
) -> None:
    failure = Answer(error=ProviderError(status, "no", code=code))
    played, _, _ = await played_by(failure, "retail-test-00000", AgentSettings())
    assert played.error == error


async def test_a_server_that_is_not_there_is_an_error_not_a_failure() -> None:
    listener = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    listener.close()
    await listener.wait_closed()
    client = AsyncOpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="any", max_retries=0)
    agent = ToolAgent(RETAIL, AgentSettings())
    played = await agent.play(client, RETAIL.reset(RETAIL.task("retail-test-00000"), 0), ("seed",))
    assert played == Playthrough(0, 0, 0, "APIConnectionError")
    await client.close()
