"""The `openai` SDK on Chat Completions: both clients, the streaming helper, structured outputs."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import openai
from pydantic import BaseModel

from tests.clients import shop
from tests.clients.job import MODEL, Desk, Job, Outcome, Row, dumped
from tests.clients.patience import asked_again, asking_again, usable

COMPLETE = ("stop", "tool_calls")

TOOLS: Any = [
    {
        "type": "function",
        "function": {"name": name, "description": text, "parameters": parameters, "strict": True},
    }
    for name, (text, parameters) in shop.TOOLS.items()
]


def opening() -> list[Any]:
    return [{"role": "system", "content": shop.SYSTEM}]


def asked(question: str) -> dict[str, str]:
    return {"role": "user", "content": question}


def answered(desk: Desk, calls: Any) -> list[Any]:
    """The results of a message's calls."""
    return [
        {
            "role": "tool",
            "tool_call_id": call.id,
            "content": desk.run(call.function.name, call.function.arguments),
        }
        for call in calls
    ]


def assembled(chunks: Any) -> dict[str, Any]:
    """The message that a stream's chunks make, put together as an application does it by hand."""
    content, calls = "", {}
    for chunk in chunks:
        for choice in chunk.choices:
            content += choice.delta.content or ""
            for part in choice.delta.tool_calls or []:
                call = calls.setdefault(
                    part.index, {"id": part.id, "type": "function", "function": {"name": "", "arguments": ""}}
                )
                call["function"]["name"] += part.function.name or ""
                call["function"]["arguments"] += part.function.arguments or ""
    message: dict[str, Any] = {"role": "assistant", "content": content or None}
    return message | ({"tool_calls": [calls[index] for index in sorted(calls)]} if calls else {})


def by_hand(client: openai.OpenAI, job: Job, messages: list[Any], told: list[Any]) -> dict[str, Any]:
    """One message."""
    given: Any = {"model": MODEL, "messages": messages, "tools": TOOLS}
    if job.stream:
        options = {"include_usage": True}
        chunks = list(client.chat.completions.create(stream=True, stream_options=options, **given))
        message = assembled(chunks)
        told.append(dumped(chunks))
        ends = [choice.finish_reason for chunk in chunks for choice in chunk.choices]
    else:
        answer = client.chat.completions.create(**given)
        message = answer.choices[0].message.model_dump(exclude_unset=True)
        told.append(dumped([answer]))
        ends = [answer.choices[0].finish_reason]
    calls = message.get("tool_calls") or []
    usable(
        message.get("content"),
        [(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in calls],
        ended=bool(ends) and ends[-1] in COMPLETE,
    )
    return message


def synchronous(job: Job) -> Outcome:
    """The synchronous client; a stream is put together by hand, with its usage asked for."""
    desk, messages, outcome, told = Desk(), opening(), Outcome(), []
    with openai.OpenAI(base_url=job.base_url, api_key=job.api_key, max_retries=0) as client:
        for question in shop.QUESTIONS:
            messages.append(asked(question))
            while True:
                message = asked_again(job, lambda: by_hand(client, job, messages, told))
                messages.append(message)
                if not message.get("tool_calls"):
                    break
                for call in message["tool_calls"]:
                    function = call["function"]
                    content = desk.run(function["name"], function["arguments"])
                    messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
            outcome.answers.append(message["content"])
    outcome.calls, outcome.history = desk.calls, [messages, told]
    return outcome


async def asynchronous(job: Job) -> Outcome:
    """The asynchronous client, and its streaming helper."""
    return await _helped(job, None)


class Report(BaseModel):
    """The answer's form, where one is asked for."""

    order_id: str
    status: str
    who: str
    what: str

    @property
    def sentence(self) -> str:
        return f"Order {self.order_id} of {self.who} with the {self.what} is {self.status}."


async def structured(job: Job) -> Outcome:
    """Structured outputs: `parse`, and the streaming helper with a `response_format`."""
    return await _helped(job, Report)


async def _helped(job: Job, form: type[Report] | None) -> Outcome:
    desk, messages, outcome, told = Desk(), opening(), Outcome(), []
    given: Any = {"model": MODEL, "messages": messages, "tools": TOOLS}
    if form is not None:
        given["response_format"] = form
    async with openai.AsyncOpenAI(base_url=job.base_url, api_key=job.api_key, max_retries=0) as client:
        for question in shop.QUESTIONS:
            messages.append(asked(question))
            while True:
                answer = await asking_again(job, lambda: _answer(client, job, given, told))
                message = answer.choices[0].message
                messages.append(message.model_dump(exclude_unset=True, exclude={"parsed"}))
                told.append(answer.model_dump(mode="json", exclude_unset=True, warnings=False))
                if not message.tool_calls:
                    break
                messages += answered(desk, message.tool_calls)
            outcome.answers.append(message.content if form is None else message.parsed.sentence)
    outcome.calls, outcome.history = desk.calls, [messages, told]
    return outcome


async def _answer(client: openai.AsyncOpenAI, job: Job, given: Any, told: list[Any]) -> Any:
    """One completion: by the streaming helper, by `parse` where a form is asked for, or plain."""
    if job.stream:
        async with client.chat.completions.stream(**given) as stream:
            told.append([event.type async for event in stream])
            answer: Any = await stream.get_final_completion()
    elif "response_format" in given:
        answer = await client.chat.completions.parse(**given)
    else:
        answer = await client.chat.completions.create(**given)
    for choice in answer.choices:
        calls = choice.message.tool_calls or []
        usable(
            choice.message.content,
            [(call.id, call.function.name, call.function.arguments) for call in calls],
            ended=choice.finish_reason in COMPLETE,
        )
    return answer


async def several(job: Job) -> Outcome:
    """`n` above one, with log-probabilities: every choice is gone on with, the first one is kept."""
    desk, messages, outcome, told = Desk(), opening(), Outcome(), []
    given: Any = {"model": MODEL, "messages": messages, "tools": TOOLS, "n": 3, "logprobs": True}
    async with openai.AsyncOpenAI(base_url=job.base_url, api_key=job.api_key, max_retries=0) as client:
        for question in shop.QUESTIONS:
            messages.append(asked(question))
            while True:
                answer = await asking_again(job, lambda: _answer(client, job, given, told))
                assert [choice.index for choice in answer.choices] == [0, 1, 2]
                told.append(answer.model_dump(mode="json", exclude_unset=True, warnings=False))
                message = answer.choices[0].message
                messages.append(message.model_dump(exclude_unset=True, exclude={"parsed"}))
                if not message.tool_calls:
                    break
                messages += answered(desk, message.tool_calls)
            outcome.answers.append(message.content)
    outcome.calls, outcome.history = desk.calls, [messages, told]
    return outcome


async def steered(job: Job) -> Outcome:
    """The first call of each question is forced by name, and calls come one at a time."""
    desk, messages, outcome, told = Desk(), opening(), Outcome(), []
    given: Any = {"model": MODEL, "messages": messages, "tools": TOOLS, "parallel_tool_calls": False}
    forced: Any = {"type": "function", "function": {"name": "get_order"}}
    async with openai.AsyncOpenAI(base_url=job.base_url, api_key=job.api_key, max_retries=0) as client:
        for question in shop.QUESTIONS:
            messages.append(asked(question))
            choice: Any = forced
            while True:
                now = {**given, "tool_choice": choice}
                answer = await asking_again(job, partial(_answer, client, job, now, told))
                told.append(answer.model_dump(mode="json", exclude_unset=True))
                message = answer.choices[0].message
                messages.append(message.model_dump(exclude_unset=True, exclude={"parsed"}))
                if not message.tool_calls:
                    break
                assert len(message.tool_calls) == 1, "several calls at once"
                messages += answered(desk, message.tool_calls)
                choice = "auto"
            outcome.answers.append(message.content)
    outcome.calls, outcome.history = desk.calls, [messages, told]
    return outcome


async def in_thread(job: Job) -> Outcome:
    return await asyncio.to_thread(synchronous, job)


PROTOCOL, PACKAGE = "Chat Completions", "pypi:openai"
ROWS = (
    Row("openai, synchronous", PROTOCOL, in_thread, PACKAGE),
    Row("openai, asynchronous", PROTOCOL, asynchronous, PACKAGE),
    Row("openai, structured outputs", PROTOCOL, structured, PACKAGE),
    Row("openai, tool_choice by name", PROTOCOL, steered, PACKAGE),
    # With several choices no tool is added to what was declared.
    Row("openai, n = 3", PROTOCOL, several, PACKAGE, spared=("tool schemas",)),
)
