"""The `anthropic` SDK on Messages: both clients, the streaming helper with tool use and thinking, counts."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import anthropic

from tests.clients import shop
from tests.clients.job import MODEL, Desk, Job, Outcome, Row
from tests.clients.patience import asked_again, asking_again, usable

TOOLS: Any = [
    {"name": name, "description": text, "input_schema": parameters}
    for name, (text, parameters) in shop.TOOLS.items()
]


def answered(desk: Desk, content: Any) -> list[Any]:
    """The results of the calls among a message's blocks."""
    return [
        {"type": "tool_result", "tool_use_id": block.id, "content": desk.run(block.name, block.input)}
        for block in content
        if block.type == "tool_use"
    ]


def text_of(message: Any) -> str:
    return "".join(block.text for block in message.content if block.type == "text")


async def asynchronous(job: Job) -> Outcome:
    """The asynchronous client with thinking; before each question the tokens are counted."""
    desk, messages, outcome, told = Desk(), [], Outcome(), []
    given: Any = {"model": MODEL, "system": shop.SYSTEM, "tools": TOOLS, "messages": messages}
    thinking: Any = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
    async with anthropic.AsyncAnthropic(
        base_url=job.anthropic_base_url, api_key=job.api_key, max_retries=0
    ) as client:
        for question in shop.QUESTIONS:
            messages.append({"role": "user", "content": question})
            counted = await asking_again(job, lambda: client.messages.count_tokens(**given, **thinking))
            told.append(counted.input_tokens)
            while True:
                asking: Any = {**given, **thinking, "max_tokens": 2000}
                message = await asking_again(job, partial(_answer, client, job, asking, told))
                told.append(message.model_dump(mode="json", exclude_unset=True))
                messages.append({"role": "assistant", "content": told[-1]["content"]})
                results = answered(desk, message.content)
                if not results:
                    break
                messages.append({"role": "user", "content": results})
            outcome.answers.append(text_of(message))
    outcome.calls, outcome.history = desk.calls, [messages, told]
    return outcome


async def _answer(client: anthropic.AsyncAnthropic, job: Job, given: Any, told: list[Any]) -> Any:
    if job.stream:
        async with client.messages.stream(**given) as stream:
            told.append([event.type async for event in stream])
            message: Any = await stream.get_final_message()
    else:
        message = await client.messages.create(**given)
    return whole(message)


def whole(message: Any) -> Any:
    """The message, where it can be gone on with."""
    calls = [(one.id, one.name, one.input) for one in message.content if one.type == "tool_use"]
    usable(text_of(message), calls, ended=message.stop_reason in ("end_turn", "tool_use"))
    return message


def synchronous(job: Job) -> Outcome:
    """The synchronous client; a stream's events are put together by hand."""
    desk, messages, outcome, told = Desk(), [], Outcome(), []
    given: Any = {"model": MODEL, "max_tokens": 2000, "system": shop.SYSTEM, "tools": TOOLS}
    with anthropic.Anthropic(base_url=job.anthropic_base_url, api_key=job.api_key, max_retries=0) as client:
        for question in shop.QUESTIONS:
            messages.append({"role": "user", "content": [{"type": "text", "text": question}]})
            while True:
                message = asked_again(job, lambda: _said(client, job, {**given, "messages": messages}, told))
                told.append(message.model_dump(mode="json", exclude_unset=True))
                messages.append({"role": "assistant", "content": message.content})
                results = answered(desk, message.content)
                if not results:
                    break
                messages.append({"role": "user", "content": results})
            outcome.answers.append(text_of(message))
    outcome.calls, outcome.history = desk.calls, told
    return outcome


def _said(client: anthropic.Anthropic, job: Job, given: Any, told: list[Any]) -> Any:
    if not job.stream:
        return whole(client.messages.create(**given))
    with client.messages.stream(**given) as stream:
        told.append(list(stream.text_stream))
        return whole(stream.get_final_message())


async def in_thread(job: Job) -> Outcome:
    return await asyncio.to_thread(synchronous, job)


PROTOCOL, PACKAGE = "Messages", "pypi:anthropic"
ROWS = (
    Row("anthropic, synchronous", PROTOCOL, in_thread, PACKAGE),
    Row("anthropic, thinking and count_tokens", PROTOCOL, asynchronous, PACKAGE),
)
