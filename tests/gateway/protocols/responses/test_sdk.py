"""The real `openai` SDK on Responses, unmodified, against a provider that refuses whatever OpenAI's would."""

from __future__ import annotations

import asyncio
import itertools
import json
from pathlib import Path
from typing import Any, Literal

import openai
import pytest
from pydantic import BaseModel

from crosswind.testing import Answer, Dialogue, ProviderError, ScriptedProvider
from tests.clients import shop
from tests.gateway.dialogue import PROFILE
from tests.gateway.servers import Running, gateway

TOOLS: Any = [
    {"type": "function", "name": name, "description": words, "parameters": schema, "strict": True}
    for name, (words, schema) in shop.TOOLS.items()
]
How = Literal["create", "stream"]


async def opened(running: Running, **asked: Any) -> dict[str, Any]:
    session = (await running.api("POST", "/api/sessions", asked)).json()
    return {"base_url": session["base_url"], "api_key": session["api_key"], "max_retries": 0}


@pytest.fixture
def flaky(tmp_path: Path) -> dict[str, Any]:
    file = tmp_path / "flaky.yaml"
    file.write_text(PROFILE)
    return {"profile": str(file), "upstream_key": "sk-upstream"}


def results_of(response: Any) -> list[Any]:
    return [
        {
            "type": "function_call_output",
            "call_id": item.call_id,
            "output": shop.run_tool(item.name, json.loads(item.arguments)),
        }
        for item in response.output
        if item.type == "function_call"
    ]


class Agent:
    """Leads the shop's dialogue: resends its own clean history, reasoning items included."""

    def __init__(self, client: openai.AsyncOpenAI, how: How, **more: Any) -> None:
        self._client = client
        self._how = how
        self._more = more
        self.items: list[Any] = []

    async def lead(self) -> list[str]:
        answers = []
        for question in shop.QUESTIONS:
            response = await self.turn([{"role": "user", "content": question}])
            while outputs := results_of(response):
                response = await self.turn(outputs)
            answers.append(response.output_text)
        return answers

    async def turn(self, new: list[Any]) -> Any:
        self.items += new
        response = await self.ask(input=self.items)
        self.items += [item.to_dict() for item in response.output]
        return response

    async def ask(self, **asked: Any) -> Any:
        given = {"model": "m", "instructions": shop.SYSTEM, "tools": TOOLS} | self._more | asked
        if self._how == "create":
            return await self._client.responses.create(**given)
        async with self._client.responses.stream(**given) as stream:
            said = "".join(
                [event.delta async for event in stream if event.type == "response.output_text.delta"]
            )
            response: Any = await stream.get_final_response()
            assert said == response.output_text
            return response


@pytest.mark.parametrize("how", ["create", "stream"])
async def test_a_conversation_with_tools_and_sealed_reasoning(
    tmp_path: Path, flaky: dict[str, Any], how: How
) -> None:
    sealed = {
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "low", "summary": "auto"},
        "parallel_tool_calls": True,
        "tool_choice": {
            "type": "allowed_tools",
            "mode": "auto",
            "tools": [{"type": "function", "name": tool["name"]} for tool in TOOLS],
        },
    }
    async with ScriptedProvider(shop.policy) as app, gateway(tmp_path, app.url, **flaky) as running:
        async with openai.AsyncOpenAI(**await opened(running)) as client:
            agent = Agent(client, how, **sealed)
            assert await agent.lead() == list(shop.ANSWERS)
        assert not app.refusals and not app.complaints
        asked = app.bodies("/v1/responses")
        for before, after in itertools.pairwise(asked):
            assert after["input"][: len(before["input"])] == before["input"]
        assert {name: asked[0][name] for name in sealed} == sealed
        changed = [
            item for item, clean in zip(asked[-1]["input"], agent.items, strict=False) if item != clean
        ]
        assert {item.get("type", "message") for item in changed} == {"message", "function_call_output"}
        assert any(item.get("encrypted_content") for item in asked[-1]["input"])
        assert all("cw-" not in str(seen.headers) for seen in app.requests)


async def test_the_synchronous_client_and_its_events(tmp_path: Path) -> None:
    async with (
        ScriptedProvider(shop.policy) as app,
        gateway(tmp_path, app.url, upstream_key="sk-upstream") as running,
    ):
        keys = await opened(running)

        def use() -> tuple[Any, Any]:
            with openai.OpenAI(**keys) as client:
                given: Any = {"model": "m", "input": shop.QUESTIONS[0], "tools": TOOLS}
                return client.responses.create(**given), list(client.responses.create(**given, stream=True))

        response, events = await asyncio.to_thread(use)
        (call,) = (item for item in response.output if item.type == "function_call")
        assert (call.name, json.loads(call.arguments)) == ("get_order", {"order_id": "W17"})
        assert [one.sequence_number for one in events] == list(range(len(events)))
        assert events[-1].type == "response.completed"
        (again,) = (item for item in events[-1].response.output if item.type == "function_call")
        assert (again.name, again.arguments) == (call.name, call.arguments)


class Order(BaseModel):
    """What is known of an order."""

    order_id: str
    status: str


async def test_structured_output_is_parsed(tmp_path: Path, flaky: dict[str, Any]) -> None:
    told = Order(order_id="W17", status="shipped")
    async with (
        ScriptedProvider(lambda _: Answer(told.model_dump_json())) as app,
        gateway(tmp_path, app.url, **flaky) as running,
        openai.AsyncOpenAI(**await opened(running)) as client,
    ):
        parsed = await client.responses.parse(model="m", input=shop.QUESTIONS[0], text_format=Order)
        assert parsed.output_parsed == told
        (sent,) = app.bodies("/v1/responses")
        assert sent["text"]["format"]["strict"] is True
        assert sent["text"]["format"]["schema"]["properties"].keys() == {"order_id", "status"}
        assert sent["input"] != shop.QUESTIONS[0]


FAILURES = {
    400: openai.BadRequestError,
    401: openai.AuthenticationError,
    404: openai.NotFoundError,
    429: openai.RateLimitError,
    500: openai.InternalServerError,
}


async def test_errors_are_the_sdks_own_kinds(tmp_path: Path) -> None:
    status = 0

    def failing(_: Dialogue) -> Answer:
        return Answer(error=ProviderError(status, f"failed with {status}"))

    async with (
        ScriptedProvider(failing) as app,
        gateway(tmp_path, app.url, sessions="strict", upstream_key="sk-upstream") as running,
    ):
        keys = await opened(running)
        async with openai.AsyncOpenAI(**keys) as client:
            for status, kind in FAILURES.items():
                with pytest.raises(kind, match=f"failed with {status}"):
                    await client.responses.create(model="m", input="hi")
        async with openai.AsyncOpenAI(**keys | {"api_key": "cw-wrong"}) as client:
            with pytest.raises(openai.AuthenticationError, match="session key is unknown"):
                await client.responses.create(model="m", input="hi")


async def test_a_failure_within_a_stream(tmp_path: Path) -> None:
    def failing(_: Dialogue) -> Answer:
        return Answer("a b c d", error=ProviderError(500, "Overloaded"), pieces=6)

    async with (
        ScriptedProvider(failing) as app,
        gateway(tmp_path, app.url, upstream_key="sk-upstream") as running,
        openai.AsyncOpenAI(**await opened(running)) as client,
    ):
        stream = await client.responses.create(model="m", input="hi", stream=True)
        events = [one async for one in stream]
        last: Any = events[-1]
        assert last.type == "response.failed" and last.response.error.message == "Overloaded"
