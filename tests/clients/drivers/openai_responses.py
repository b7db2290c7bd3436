"""The `openai` SDK on Responses: history resent or kept by the provider, structured outputs."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import openai

from tests.clients import shop
from tests.clients.drivers.openai_chat import Report
from tests.clients.job import MODEL, Desk, Job, Outcome, Row, put_questions
from tests.clients.patience import asking_again, usable

TOOLS: Any = [
    {"type": "function", "name": name, "description": text, "parameters": parameters, "strict": True}
    for name, (text, parameters) in shop.TOOLS.items()
]


def answered(desk: Desk, output: Any) -> list[Any]:
    """The results of the calls among the output's items."""
    return [
        {
            "type": "function_call_output",
            "call_id": item.call_id,
            "output": desk.run(item.name, item.arguments),
        }
        for item in output
        if item.type == "function_call"
    ]


async def answer_to(client: openai.AsyncOpenAI, job: Job, given: Any, told: list[Any]) -> Any:
    """A response that can be gone on with."""
    return await asking_again(job, lambda: _answer_to(client, job, given, told))


async def _answer_to(client: openai.AsyncOpenAI, job: Job, given: Any, told: list[Any]) -> Any:
    """A response; of a stream, the one that its last event carries."""
    parsed = "text_format" in given
    if not job.stream:
        response: Any = await (client.responses.parse if parsed else client.responses.create)(**given)
    elif parsed:
        async with client.responses.stream(**given) as stream:
            told.append([event.type async for event in stream])
            response = await stream.get_final_response()
    else:
        response = None
        text = ""
        async for event in await client.responses.create(stream=True, **given):
            told.append(event.model_dump(mode="json", exclude_unset=True))
            if event.type == "response.output_text.delta":
                text += event.delta
            if event.type == "response.completed":
                response = event.response
        assert response is not None and text == response.output_text
    calls = [item for item in response.output if item.type == "function_call"]
    usable(
        response.output_text,
        [(call.call_id, call.name, call.arguments) for call in calls],
        ended=response.status == "completed",
    )
    assert {tool.name for tool in response.tools} == set(shop.TOOLS), "other tools than were declared"
    told.append(response.model_dump(mode="json", exclude_unset=True))
    return response


async def resending(job: Job) -> Outcome:
    """Nothing is kept at the provider: reasoning items come back with their encrypted content."""
    kept_out = {"reasoning": {"effort": "low"}, "include": ["reasoning.encrypted_content"], "store": False}
    return await _resend(job, kept_out, lambda question: {"role": "user", "content": question})


async def structured(job: Job) -> Outcome:
    """`parse` with a `text_format`."""
    return await _resend(
        job,
        {"text_format": Report},
        lambda question: {"role": "user", "content": [{"type": "input_text", "text": question}]},
    )


async def _resend(job: Job, more: Any, message: Callable[[str], Any]) -> Outcome:
    """Send the whole history each time."""
    desk, items, told = Desk(), list[Any](), list[Any]()
    given: Any = {"model": MODEL, "instructions": shop.SYSTEM, "tools": TOOLS, "input": items, **more}
    async with openai.AsyncOpenAI(base_url=job.base_url, api_key=job.api_key, max_retries=0) as client:

        async def ask() -> tuple[str, list[Any]]:
            response = await answer_to(client, job, given, told)
            items.extend(_own_items(response))
            results = answered(desk, response.output)
            parsed = "text_format" in more and not results
            return response.output_parsed.sentence if parsed else response.output_text, results

        answers = await put_questions(items, ask, message=message)
    return Outcome(answers, desk.calls, [items, told])


def _own_items(response: Any) -> list[Any]:
    """The response's items, without what the client itself added to them."""
    items = [json.loads(item.model_dump_json(exclude_unset=True)) for item in response.output]
    for item in items:
        item.pop("parsed_arguments", None)
        for part in item.get("content") or []:
            part.pop("parsed", None)
    return items


async def kept(job: Job, *, read_back: bool) -> Outcome:
    """The provider keeps the history: only what is new is sent, after `previous_response_id`. `read_back`: in
    the end everything is read again, item by item, and deleted.
    """
    desk, outcome, told = Desk(), Outcome(), []
    given: Any = {"model": MODEL, "instructions": shop.SYSTEM, "tools": TOOLS, "reasoning": {"effort": "low"}}
    said: list[Any] = []
    responses = []
    async with openai.AsyncOpenAI(base_url=job.base_url, api_key=job.api_key, max_retries=0) as client:
        for question in shop.QUESTIONS:
            new: Any = question
            while True:
                said += [question] if new is question else [item["output"] for item in new]
                before = {"previous_response_id": responses[-1].id} if responses else {}
                response = await answer_to(client, job, {**given, **before, "input": new}, told)
                assert response.previous_response_id == before.get("previous_response_id")
                responses.append(response)
                new = answered(desk, response.output)
                if not new:
                    break
            outcome.answers.append(response.output_text)
        if read_back:
            await _read_back(client, responses, said, told)
    outcome.calls, outcome.history = desk.calls, [said, told]
    return outcome


async def _read_back(client: openai.AsyncOpenAI, responses: Any, said: list[Any], told: list[Any]) -> None:
    for response in responses:
        again = await client.responses.retrieve(response.id)
        # What was parsed on the client's side isn't part of it.
        assert again.to_dict() == response.to_dict(), "a response reads otherwise when it is read again"
    shown = [
        item async for item in client.responses.input_items.list(responses[-1].id, order="asc", limit=100)
    ]
    own = [
        item for item in shown if getattr(item, "role", None) == "user" or item.type == "function_call_output"
    ]
    texts = [item.output if item.type == "function_call_output" else item.content[0].text for item in own]
    assert texts == said, f"what the client said reads otherwise: {texts}"
    calls = {item.name for item in shown if item.type == "function_call"}
    assert calls <= set(shop.TOOLS), f"calls of tools that were not declared: {calls}"
    told.append([item.model_dump(mode="json", exclude_unset=True) for item in shown])
    for response in responses:
        await client.responses.delete(response.id)


PROTOCOL, PACKAGE = "Responses", "pypi:openai"
ROWS = (
    Row("openai, history resent", PROTOCOL, resending, PACKAGE),
    Row("openai, previous_response_id", PROTOCOL, partial(kept, read_back=False), PACKAGE),
    Row("openai, responses read back", PROTOCOL, partial(kept, read_back=True), PACKAGE),
    Row("openai, structured outputs", PROTOCOL, structured, PACKAGE),
)
