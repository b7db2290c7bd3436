"""The `openai` SDK on the routes that hold no dialogue: Completions, Embeddings, Models."""

from __future__ import annotations

from functools import partial
from typing import Any

import anthropic
import openai

from crosswind.testing import Answer, Dialogue, MessageItem
from crosswind.testing.small_routes import make_embedding
from tests.clients import shop
from tests.clients.job import MODEL, PLAIN, Job, Outcome, Row
from tests.clients.patience import asking_again, usable


def continuation(dialogue: Dialogue) -> Answer:
    """The policy of Completions: the answer to the last question whose order the prompt names."""
    prompt = next(item.text for item in dialogue.items if isinstance(item, MessageItem))
    asked = [order in prompt for order in shop.ORDERS]
    return Answer(shop.ANSWERS[len(asked) - 1 - asked[::-1].index(True)])


async def completions(job: Job) -> Outcome:
    """A prompt that grows by each answer and the next question, as text."""
    outcome, prompt, told = Outcome(), shop.SYSTEM, []
    async with openai.AsyncOpenAI(base_url=job.base_url, api_key=job.api_key, max_retries=0) as client:
        for question in shop.QUESTIONS:
            prompt += f"\n\nUser: {question}\n\nAssistant:"
            given: Any = {"model": MODEL, "prompt": prompt, "max_tokens": 100}
            parts = await asking_again(job, partial(_completion, client, job, given))
            answer = "".join(part.choices[0].text for part in parts)
            told += [part.model_dump(mode="json") for part in parts]
            prompt += f" {answer}"
            outcome.answers.append(answer)
    outcome.history = [prompt, told]
    return outcome


async def _completion(client: openai.AsyncOpenAI, job: Job, given: Any) -> list[Any]:
    if job.stream:
        parts = [one async for one in await client.completions.create(stream=True, **given)]
    else:
        parts = [await client.completions.create(**given)]
    usable(
        "".join(part.choices[0].text for part in parts),
        (),
        ended=parts[-1].choices[0].finish_reason == "stop",
    )
    return parts


async def embeddings(job: Job) -> Outcome:
    """Vectors in both encodings: floats where they are asked for, base64 by the SDK's own choice."""
    outcome, told = Outcome(), []
    async with openai.AsyncOpenAI(base_url=job.base_url, api_key=job.api_key, max_retries=0) as client:
        for question in shop.QUESTIONS:
            given: Any = {"model": MODEL, "input": [question, "another text"]}
            floats = await asking_again(job, partial(_vectors, client, given))
            told.append(floats.model_dump(mode="json"))
            same = floats.data[0].embedding == make_embedding(question)
            outcome.answers.append("its own vector" if same else "another text's vector")
    outcome.history = told
    return outcome


async def _vectors(client: openai.AsyncOpenAI, given: Any) -> Any:
    packed = await client.embeddings.create(**given)
    floats = await client.embeddings.create(encoding_format="float", **given)
    assert [list(one.embedding) for one in packed.data] == [one.embedding for one in floats.data]
    return floats


async def models(job: Job) -> Outcome:
    """The list and one of it, with each SDK: the same path answers in two shapes."""
    outcome = Outcome()
    async with openai.AsyncOpenAI(base_url=job.base_url, api_key=job.api_key, max_retries=0) as client:
        outcome.answers += [one.id async for one in client.models.list()]
        outcome.history = [(await client.models.retrieve(MODEL)).model_dump(mode="json")]
    async with anthropic.AsyncAnthropic(
        base_url=job.anthropic_base_url, api_key=job.api_key, max_retries=0
    ) as client_:
        outcome.answers += [one.display_name async for one in client_.models.list()]
        outcome.history.append((await client_.models.retrieve(MODEL)).model_dump(mode="json"))
    return outcome


VECTORS = ("its own vector",) * len(shop.QUESTIONS)
NAMES = ("small", "large", "Small", "Large")
ROWS = (
    Row("openai", "Completions", completions, "pypi:openai", policy=continuation, rewrites=True),
    Row("openai", "Embeddings", embeddings, "pypi:openai", (PLAIN,), answers=VECTORS),
    Row("openai and anthropic", "Models", models, "pypi:openai", (PLAIN,), answers=NAMES),
)
