"""`openai-agents`, on both of OpenAI's protocols."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import agents
import openai
from agents import Agent, FunctionTool, ModelSettings, RunConfig, Runner
from agents.models.openai_chatcompletions import OpenAIChatCompletionsModel
from agents.models.openai_responses import OpenAIResponsesModel

from tests.clients import shop
from tests.clients.job import MODEL, Desk, Job, Outcome, Row
from tests.clients.patience import asking_again, final

agents.set_tracing_disabled(True)


def tools(desk: Desk) -> list[Any]:
    async def invoke(_: Any, arguments: str, *, name: str) -> str:
        return desk.run(name, arguments)

    return [
        FunctionTool(name, description, parameters, partial(invoke, name=name))
        for name, (description, parameters) in shop.TOOLS.items()
    ]


async def converse(job: Job, *, model: Any) -> Outcome:
    desk, outcome, items = Desk(), Outcome(), []
    async with openai.AsyncOpenAI(base_url=job.base_url, api_key=job.api_key, max_retries=0) as client:
        agent = Agent(
            name="shop",
            instructions=shop.SYSTEM,
            model=model(model=MODEL, openai_client=client),
            model_settings=ModelSettings(parallel_tool_calls=True),
            tools=tools(desk),
        )
        config = RunConfig(tracing_disabled=True)
        for question in shop.QUESTIONS:
            given: Any = [*items, {"role": "user", "content": question}]
            result = await asking_again(job, partial(_ran, agent, given, config, job.stream))
            items = result.to_input_list()
            outcome.answers.append(result.final_output)
    outcome.calls = sorted(desk.calls, key=json.dumps)
    outcome.history = json.loads(json.dumps(items))
    return outcome


async def _ran(agent: Any, given: Any, config: Any, streamed: bool) -> Any:
    """The result of a question."""
    if streamed:
        result: Any = Runner.run_streamed(agent, given, run_config=config, max_turns=30)
        async for _ in result.stream_events():
            pass
    else:
        result = await Runner.run(agent, given, run_config=config, max_turns=30)
    final(result.final_output)
    return result


PACKAGE = "pypi:openai-agents"
ROWS = (
    Row("openai-agents", "Chat Completions", partial(converse, model=OpenAIChatCompletionsModel), PACKAGE),
    Row("openai-agents", "Responses", partial(converse, model=OpenAIResponsesModel), PACKAGE),
)
