"""The real `openai` SDK, unmodified: only base_url and api_key are set."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import openai

from crosswind.testing.replies import DONE, chunks, plain
from tests.gateway.dialogue import PROFILE, TOOLS, history
from tests.gateway.engine import engine
from tests.gateway.servers import answer, delta, event, gateway, upstream

MESSAGES: Any = history(2)
STREAM = chunks(event([delta("he")]), event([delta("llo")]), event([delta(finish="stop")]), DONE)


async def opened(running: Any, **asked: Any) -> dict[str, str]:
    session = (await running.api("POST", "/api/sessions", asked)).json()
    return {"base_url": session["base_url"], "api_key": session["api_key"]}


async def test_the_asynchronous_client(tmp_path: Path) -> None:
    async with (
        upstream(plain(answer()), STREAM) as app,
        gateway(tmp_path, app, noise=PROFILE) as running,
    ):
        async with openai.AsyncOpenAI(**await opened(running)) as client:
            tools: Any = TOOLS
            given = await client.chat.completions.create(model="tiny", messages=MESSAGES, tools=tools)
            assert given.choices[0].message.content == "hello"
            stream = await client.chat.completions.create(model="tiny", messages=MESSAGES, stream=True)
            texts = [chunk.choices[0].delta.content async for chunk in stream]
            assert texts == ["he", "llo", None]
        assert app.requests[0].texts()[0] == app.requests[1].texts()[0] != MESSAGES[0]["content"]
        assert "authorization" not in app.requests[0].headers


async def test_the_synchronous_client(tmp_path: Path) -> None:
    async with upstream(engine()) as app, gateway(tmp_path, app) as running:
        keys = await opened(running, group_id="g")

        def use() -> list[Any]:
            with openai.OpenAI(**keys) as client:
                given = client.chat.completions.create(model="tiny", messages=MESSAGES)
                streamed = client.chat.completions.create(model="tiny", messages=MESSAGES, stream=True)
                return [given, *streamed]

        given, *streamed = await asyncio.to_thread(use)
        assert not given.choices[0].model_extra and given.choices[0].logprobs is None
        assert "".join(chunk.choices[0].delta.content or "" for chunk in streamed) == "xxx"
        assert streamed[-1].choices[0].finish_reason == "stop" and not any(chunk.usage for chunk in streamed)
        fitness = [
            turn["fitness"] for turn in (await running.trajectory(keys["base_url"].split("/")[-2]))["turns"]
        ]
        assert fitness == ["fit", "fit"]


async def test_the_sdks_retries_are_attempts_at_one_turn(tmp_path: Path) -> None:
    failing = plain(b'{"error": {"message": "oops"}}', 500, (b"retry-after-ms", b"1"))
    async with upstream(failing, failing, plain(answer())) as app, gateway(tmp_path, app) as running:
        keys = await opened(running)
        async with openai.AsyncOpenAI(**keys, max_retries=2) as client:
            await client.chat.completions.create(model="tiny", messages=MESSAGES)
        turns = (await running.trajectory(keys["base_url"].split("/")[-2]))["turns"]
        assert [(turn["index"], turn["attempt"], turn["upstream_status"]) for turn in turns] == [
            (0, 0, 500),
            (0, 1, 500),
            (0, 2, 200),
        ]
        assert turns[0]["error"]["source"] == "upstream" and turns[2]["error"] is None
