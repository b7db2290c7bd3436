"""The real SDKs, unmodified, against providers that refuse whatever the real ones would refuse."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from crosswind.testing import Answer, Dialogue, ProviderError, ScriptedProvider
from tests.clients import shop
from tests.gateway.agents import Agent, ChatAgent, MessagesAgent, ResponsesAgent, open_session
from tests.gateway.dialogue import PROFILE
from tests.gateway.servers import gateway

SEALED = {
    "store": False,
    "include": ["reasoning.encrypted_content"],
    "parallel_tool_calls": True,
    "tool_choice": {
        "type": "allowed_tools",
        "mode": "auto",
        "tools": [{"type": "function", "name": name} for name in shop.TOOLS],
    },
}
ASKED: dict[type[Agent], dict[str, Any]] = {
    ChatAgent: {
        "tools": [
            {"type": "function", "function": {"name": name, "description": words, "parameters": schema}}
            for name, (words, schema) in shop.TOOLS.items()
        ]
    },
    MessagesAgent: {
        "system": [{"type": "text", "text": shop.SYSTEM, "cache_control": {"type": "ephemeral"}}],
        "tools": [
            {"name": name, "description": words, "input_schema": schema}
            for name, (words, schema) in shop.TOOLS.items()
        ],
    },
    ResponsesAgent: {
        "instructions": shop.SYSTEM,
        "tools": [
            {"type": "function", "name": name, "description": words, "parameters": schema, "strict": True}
            for name, (words, schema) in shop.TOOLS.items()
        ],
        **SEALED,
    },
}
"""What the shop's agents ask besides their messages."""


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("kind", ASKED)
async def test_a_conversation_with_tools_and_thinking(
    tmp_path: Path, kind: type[Agent], stream: bool
) -> None:
    async with (
        ScriptedProvider(shop.policy) as app,
        gateway(tmp_path, app.url, noise=PROFILE, upstream_key="sk-upstream") as running,
        kind(running, stream=stream, keys=await open_session(running, kind), **ASKED[kind]) as agent,
    ):
        agent.run_tool = lambda call: shop.run_tool(call.name, call.arguments)
        for question, answer in zip(shop.QUESTIONS, shop.ANSWERS, strict=True):
            await agent.ask(question)
            while agent.last.calls:
                await agent.answer_calls()
            assert agent.last.text == answer
    assert not app.refusals and not app.complaints
    member = "input" if kind is ResponsesAgent else "messages"
    sent = [body[member] for body in app.bodies(agent.path)]
    for before, after in pairwise(sent):
        assert after[: len(before)] == before
    changed = [one for one, clean in zip(sent[-1], agent.history, strict=False) if one != clean]
    assert changed and sent[-1][0] == changed[0]
    assert {one.get("role", one.get("type")) for one in changed} <= {"user", "tool", "function_call_output"}
    for body in app.bodies(agent.path):
        assert {name: body[name] for name in ASKED[kind]} == ASKED[kind]
    assert all("cw-" not in str(seen.headers) for seen in app.requests)


OPENAI = {
    400: openai.BadRequestError,
    401: openai.AuthenticationError,
    404: openai.NotFoundError,
    429: openai.RateLimitError,
    500: openai.InternalServerError,
}
ANTHROPIC = {
    400: anthropic.BadRequestError,
    403: anthropic.PermissionDeniedError,
    413: anthropic.RequestTooLargeError,
    429: anthropic.RateLimitError,
    500: anthropic.InternalServerError,
    529: anthropic.OverloadedError,
}
FAILURES: dict[type[Agent], Any] = {ChatAgent: OPENAI, MessagesAgent: ANTHROPIC, ResponsesAgent: OPENAI}


@pytest.mark.parametrize("kind", FAILURES)
async def test_errors_are_the_sdks_own_kinds(tmp_path: Path, kind: type[Agent]) -> None:
    sdk: Any = anthropic if kind is MessagesAgent else openai
    status = 0

    def failing(_: Dialogue) -> Answer:
        return Answer(error=ProviderError(status, f"failed with {status}"))

    async with (
        ScriptedProvider(failing) as app,
        gateway(tmp_path, app.url, sessions="strict", upstream_key="sk-upstream") as running,
    ):
        keys = await open_session(running, kind)

        async def ask(**changed: Any) -> None:
            async with kind(running, keys=keys | changed) as agent:
                await agent.ask("hi")

        for status, error in FAILURES[kind].items():
            with pytest.raises(error, match=f"failed with {status}"):
                await ask()
        with pytest.raises(sdk.AuthenticationError, match="session key is unknown") as wrong:
            await ask(api_key="cw-wrong")
        assert wrong.value.type == "authentication_error"
        session = keys["base_url"].removesuffix("/v1").rpartition("/")[2]
        with pytest.raises(sdk.NotFoundError, match="unknown session 'x'"):
            await ask(base_url=keys["base_url"].replace(session, "x"), api_key="sk-x")
        await running.api("POST", f"/api/sessions/{session}/close")
        with pytest.raises(sdk.ConflictError, match="is closed"):
            await ask()
