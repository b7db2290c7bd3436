"""The `openai` SDK on Chat Completions: both clients, the streaming helper, structured outputs."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import openai
from pydantic import BaseModel

from tests.clients import shop
from tests.clients.job import MODEL, Desk, Job, Outcome, Row, dumped, put_questions
from tests.clients.patience import asking_again, usable

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


async def synchronous(job: Job) -> Outcome:
    """The synchronous client; a stream is put together by hand, with its usage asked for."""
    desk, messages, told = Desk(), opening(), list[Any]()
    with openai.OpenAI(base_url=job.base_url, api_key=job.api_key, max_retries=0) as client:
        in_thread = partial(asyncio.to_thread, by_hand, client, job, messages, told)

        async def ask() -> tuple[str, list[Any]]:
            message = await asking_again(job, in_thread)
            messages.append(message)
            calls = [(call["id"], call["function"]) for call in message.get("tool_calls") or ()]
            return message["content"], [
                {"role": "tool", "tool_call_id": call, "content": desk.run(one["name"], one["arguments"])}
                for call, one in calls
            ]

        answers = await put_questions(messages, ask)
    return Outcome(answers, desk.calls, [messages, told])


async def asynchronous(job: Job, *, steered: bool = False, **more: Any) -> Outcome:
    """The asynchronous client, and its streaming helper; with a `response_format`, structured outputs.

    `steered`: the first call of each question is forced by name. Of several choices, the first one is kept.
    """
    desk, messages, told = Desk(), opening(), list[Any]()
    given: Any = {"model": MODEL, "messages": messages, "tools": TOOLS, **more}
    forced: Any = {"type": "function", "function": {"name": "get_order"}}
    async with openai.AsyncOpenAI(base_url=job.base_url, api_key=job.api_key, max_retries=0) as client:

        async def ask() -> tuple[str, list[Any]]:
            if steered:
                given["tool_choice"] = forced if messages[-1]["role"] == "user" else "auto"
            answer = await asking_again(job, partial(_answer, client, job, given, told))
            assert [choice.index for choice in answer.choices] == [*range(given.get("n", 1))]
            told.append(answer.model_dump(mode="json", exclude_unset=True, warnings=False))
            message = answer.choices[0].message
            messages.append(message.model_dump(exclude_unset=True, exclude={"parsed"}))
            calls = message.tool_calls or ()
            assert given.get("parallel_tool_calls", True) or len(calls) < 2, "several calls at once"
            text = message.parsed.sentence if "response_format" in given and not calls else message.content
            return text, answered(desk, calls)

        answers = await put_questions(messages, ask)
    return Outcome(answers, desk.calls, [messages, told])


class Report(BaseModel):
    """The answer's form, where one is asked for."""

    order_id: str
    status: str
    who: str
    what: str

    @property
    def sentence(self) -> str:
        return f"Order {self.order_id} of {self.who} with the {self.what} is {self.status}."


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


STEERED = partial(asynchronous, steered=True, parallel_tool_calls=False)
SEVERAL = partial(asynchronous, n=3, logprobs=True)
PROTOCOL, PACKAGE = "Chat Completions", "pypi:openai"
ROWS = (
    Row("openai, synchronous", PROTOCOL, synchronous, PACKAGE),
    Row("openai, asynchronous", PROTOCOL, asynchronous, PACKAGE),
    Row("openai, structured outputs", PROTOCOL, partial(asynchronous, response_format=Report), PACKAGE),
    Row("openai, tool_choice by name", PROTOCOL, STEERED, PACKAGE),
    # With several choices no tool is added to what was declared.
    Row("openai, n = 3", PROTOCOL, SEVERAL, PACKAGE, spared=("tool schemas",)),
)
