"""The real `anthropic` SDK, unmodified, against a provider that refuses whatever Anthropic's would refuse."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import anthropic
import pytest

from crosswind.testing import Answer, Dialogue, ProviderError, ScriptedProvider
from tests.clients import shop
from tests.gateway.dialogue import PROFILE
from tests.gateway.servers import Running, gateway

TOOLS: Any = [
    {"name": name, "description": words, "input_schema": schema}
    for name, (words, schema) in shop.TOOLS.items()
]
THINKING: Any = {"type": "enabled", "budget_tokens": 1024}


async def opened(running: Running, **asked: Any) -> dict[str, Any]:
    session = (await running.api("POST", "/api/sessions", asked)).json()
    return {"base_url": session["anthropic_base_url"], "api_key": session["api_key"], "max_retries": 0}


@pytest.fixture
def flaky(tmp_path: Path) -> dict[str, Any]:
    file = tmp_path / "flaky.yaml"
    file.write_text(PROFILE)
    return {"profile": str(file), "upstream_key": "sk-upstream"}


def asked(app: ScriptedProvider) -> list[Any]:
    return app.bodies("/v1/messages")


def results_of(message: Any) -> list[dict[str, Any]]:
    return [
        {"type": "tool_result", "tool_use_id": block.id, "content": shop.run_tool(block.name, block.input)}
        for block in message.content
        if block.type == "tool_use"
    ]


class Agent:
    """Leads the shop's dialogue: resends its own clean history, thinking blocks included."""

    def __init__(self, client: anthropic.AsyncAnthropic, *, streaming: bool) -> None:
        self._client = client
        self._streaming = streaming
        self.messages: list[Any] = []

    async def lead(self) -> list[str]:
        answers = []
        for question in shop.QUESTIONS:
            self.messages.append({"role": "user", "content": question})
            message = await self._ask()
            while message.stop_reason == "tool_use":
                self.messages.append({"role": "user", "content": results_of(message)})
                message = await self._ask()
            answers.append(message.content[-1].text)
        return answers

    async def _ask(self) -> Any:
        given: Any = {
            "model": "claude",
            "max_tokens": 4096,
            "system": [{"type": "text", "text": shop.SYSTEM, "cache_control": {"type": "ephemeral"}}],
            "messages": self.messages,
            "tools": TOOLS,
            "thinking": THINKING,
        }
        if self._streaming:
            async with self._client.messages.stream(**given) as stream:
                said = "".join([text async for text in stream.text_stream])
                message: Any = await stream.get_final_message()
                assert said == "".join(block.text for block in message.content if block.type == "text")
        else:
            message = await self._client.messages.create(**given)
        self.messages.append({"role": "assistant", "content": [b.to_dict() for b in message.content]})
        return message


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_conversation_with_tools_and_thinking(
    tmp_path: Path, flaky: dict[str, Any], streaming: bool
) -> None:
    async with ScriptedProvider(shop.policy) as app, gateway(tmp_path, app.url, **flaky) as running:
        async with anthropic.AsyncAnthropic(**await opened(running)) as client:
            agent = Agent(client, streaming=streaming)
            assert await agent.lead() == list(shop.ANSWERS)
        assert not app.refusals and not app.complaints
        for before, after in zip(asked(app), asked(app)[1:], strict=False):
            assert after["messages"][: len(before["messages"])] == before["messages"]
        sent = asked(app)[-1]["messages"]
        changed = [number for number, one in enumerate(sent) if one != agent.messages[number]]
        assert 0 in changed and all(sent[number]["role"] == "user" for number in changed)
        assert all("cw-" not in str(seen.headers) for seen in app.requests)


async def test_the_synchronous_client(tmp_path: Path) -> None:
    async with (
        ScriptedProvider(shop.policy) as app,
        gateway(tmp_path, app.url, upstream_key="sk-upstream") as running,
    ):
        keys = await opened(running)

        def use() -> tuple[Any, int, list[str]]:
            with anthropic.Anthropic(**keys) as client:
                messages: Any = [{"role": "user", "content": shop.QUESTIONS[0]}]
                given: Any = {"model": "claude", "max_tokens": 64, "messages": messages, "tools": TOOLS}
                with client.messages.stream(**given) as stream:
                    kinds = [event.type for event in stream]
                    message = stream.get_final_message()
                counted = client.messages.count_tokens(model="claude", messages=messages, tools=TOOLS)
                return message, counted.input_tokens, kinds

        message, counted, kinds = await asyncio.to_thread(use)
        (call,) = (block for block in message.content if block.type == "tool_use")
        assert (call.name, call.input) == ("get_order", {"order_id": "W17"})
        assert message.usage.input_tokens == counted and kinds[-1] == "message_stop"


async def test_models_are_anthropics(tmp_path: Path) -> None:
    async with (
        ScriptedProvider(shop.policy) as app,
        gateway(tmp_path, app.url, upstream_key="sk-upstream") as running,
        anthropic.AsyncAnthropic(**await opened(running)) as client,
    ):
        assert {model.type async for model in client.models.list()} == {"model"}


FAILURES = {
    400: anthropic.BadRequestError,
    403: anthropic.PermissionDeniedError,
    413: anthropic.RequestTooLargeError,
    429: anthropic.RateLimitError,
    500: anthropic.InternalServerError,
    529: anthropic.OverloadedError,
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

        async def ask(**changed: Any) -> None:
            async with anthropic.AsyncAnthropic(**keys | changed) as client:
                messages: Any = [{"role": "user", "content": "hi"}]
                await client.messages.create(model="claude", max_tokens=1, messages=messages)

        for status, kind in FAILURES.items():
            with pytest.raises(kind, match=f"failed with {status}"):
                await ask()
        with pytest.raises(anthropic.AuthenticationError, match="session key is unknown") as wrong:
            await ask(api_key="cw-wrong")
        assert wrong.value.type == "authentication_error"
        with pytest.raises(anthropic.NotFoundError, match="unknown session 'x'"):
            await ask(base_url=f"{running.data}/s/x", api_key="sk-x")
        await running.api("POST", f"/api/sessions/{keys['base_url'].rsplit('/', 1)[-1]}/close")
        with pytest.raises(anthropic.ConflictError, match="is closed"):
            await ask()


async def test_an_error_within_a_stream(tmp_path: Path) -> None:
    def failing(_: Dialogue) -> Answer:
        return Answer("a b c d", error=ProviderError(529, "Overloaded"), pieces=4)

    messages: Any = [{"role": "user", "content": "hi"}]
    async with (
        ScriptedProvider(failing) as app,
        gateway(tmp_path, app.url, upstream_key="sk-upstream") as running,
        anthropic.AsyncAnthropic(**await opened(running)) as client,
    ):
        with pytest.raises(anthropic.APIStatusError, match="Overloaded"):
            async with client.messages.stream(model="c", max_tokens=9, messages=messages) as stream:
                said = await anext(aiter(stream.text_stream))
                assert said == "a"
                await stream.until_done()
