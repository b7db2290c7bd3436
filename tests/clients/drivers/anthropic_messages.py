"""The `anthropic` SDK on Messages: both clients, the streaming helper with tool use and thinking, counts."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import anthropic

from tests.clients import shop
from tests.clients.job import MODEL, Desk, Job, Outcome, Row, put_questions
from tests.clients.patience import asking_again, usable

TOOLS: Any = [
    {"name": name, "description": text, "input_schema": parameters}
    for name, (text, parameters) in shop.TOOLS.items()
]


def answered(desk: Desk, content: Any) -> list[Any]:
    """The user's message with the results of a message's calls; none where there are none."""
    results = [
        {"type": "tool_result", "tool_use_id": block.id, "content": desk.run(block.name, block.input)}
        for block in content
        if block.type == "tool_use"
    ]
    return [{"role": "user", "content": results}] if results else []


def text_of(message: Any) -> str:
    return "".join(block.text for block in message.content if block.type == "text")


async def asynchronous(job: Job) -> Outcome:
    """The asynchronous client with thinking; before each question the tokens are counted."""
    desk, messages, told = Desk(), list[Any](), list[Any]()
    given: Any = {"model": MODEL, "system": shop.SYSTEM, "tools": TOOLS, "messages": messages}
    given["thinking"] = {"type": "enabled", "budget_tokens": 1024}
    async with anthropic.AsyncAnthropic(
        base_url=job.anthropic_base_url, api_key=job.api_key, max_retries=0
    ) as client:

        async def ask() -> tuple[str, list[Any]]:
            if isinstance(messages[-1]["content"], str):
                counted = await asking_again(job, lambda: client.messages.count_tokens(**given))
                told.append(counted.input_tokens)
            asking: Any = {**given, "max_tokens": 2000}
            message = await asking_again(job, partial(_answer, client, job, asking, told))
            told.append(message.model_dump(mode="json", exclude_unset=True))
            messages.append({"role": "assistant", "content": told[-1]["content"]})
            return text_of(message), answered(desk, message.content)

        answers = await put_questions(messages, ask)
    return Outcome(answers, desk.calls, [messages, told])


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


async def synchronous(job: Job) -> Outcome:
    """The synchronous client; a stream's events are put together by hand."""
    desk, messages, told = Desk(), list[Any](), list[Any]()
    given: Any = {"model": MODEL, "max_tokens": 2000, "system": shop.SYSTEM, "tools": TOOLS}
    given["messages"] = messages
    with anthropic.Anthropic(base_url=job.anthropic_base_url, api_key=job.api_key, max_retries=0) as client:
        in_thread = partial(asyncio.to_thread, _said, client, job, given, told)

        async def ask() -> tuple[str, list[Any]]:
            message = await asking_again(job, in_thread)
            told.append(message.model_dump(mode="json", exclude_unset=True))
            messages.append({"role": "assistant", "content": message.content})
            return text_of(message), answered(desk, message.content)

        answers = await put_questions(messages, ask, message=in_blocks)
    return Outcome(answers, desk.calls, told)


def in_blocks(question: str) -> Any:
    return {"role": "user", "content": [{"type": "text", "text": question}]}


def _said(client: anthropic.Anthropic, job: Job, given: Any, told: list[Any]) -> Any:
    if not job.stream:
        return whole(client.messages.create(**given))
    with client.messages.stream(**given) as stream:
        told.append(list(stream.text_stream))
        return whole(stream.get_final_message())


PROTOCOL, PACKAGE = "Messages", "pypi:anthropic"
ROWS = (
    Row("anthropic, synchronous", PROTOCOL, synchronous, PACKAGE),
    Row("anthropic, thinking and count_tokens", PROTOCOL, asynchronous, PACKAGE),
)
