"""LiteLLM's SDK as a client: reads jobs, one JSON document a line, and writes an outcome for each. It runs in
LiteLLM's own environment, so it imports nothing of ours.
"""

from __future__ import annotations

import asyncio
import json
import sys
import warnings
from typing import Any

import litellm

litellm.telemetry = False
litellm.suppress_debug_info = True
warnings.filterwarnings("ignore", message="Pydantic serializer warnings")
litellm.drop_params = False

TRIES = 10
PREAMBLE = "Let me look that up."
"""What is said before calls: alone it is an answer that was cut."""

Answered = tuple[str, list[tuple[str, str, str]]]
"""A text, and calls as (id, name, arguments)."""


class Dialogue:
    """The job's dialogue, and the client's own tools: a call to any other is an error."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.job, self.task = job, job["task"]
        self.calls: list[Any] = []
        self.told: list[Any] = []
        self.history: list[Any] = []

    def run(self, name: str, arguments: str) -> str:
        given = json.loads(arguments)
        self.calls.append([name, given])
        found = self.task["records"][name].get(next(iter(given.values()), ""))
        return json.dumps(found or {"error": "there is no such record"})

    def tools(self) -> list[dict[str, Any]]:
        return [{"type": "function", "function": tool} for tool in self.task["tools"]]


async def completion(dialogue: Dialogue, provider: str, **where: Any) -> Answered:
    """One answer by `litellm.acompletion`, whatever the provider."""
    given: dict[str, Any] = {
        "model": f"{provider}/{dialogue.task['model']}",
        "messages": [{"role": "system", "content": dialogue.task["system"]}, *dialogue.history],
        "tools": dialogue.tools(),
        "max_tokens": 2000,
        "num_retries": 0,
        **where,
    }
    if dialogue.job["stream"]:
        options = {"include_usage": True}
        chunks = [
            one async for one in await litellm.acompletion(stream=True, stream_options=options, **given)
        ]
        answer: Any = litellm.stream_chunk_builder(chunks)
    else:
        answer = await litellm.acompletion(**given)
    message = answer.choices[0].message
    dialogue.told.append(answer.usage.model_dump())
    calls = [(call.id, call.function.name, call.function.arguments) for call in message.tool_calls or []]
    own: dict[str, Any] = {"role": "assistant", "content": message.content}
    if calls:
        own["tool_calls"] = [
            {"id": call, "type": "function", "function": {"name": name, "arguments": arguments}}
            for call, name, arguments in calls
        ]
    dialogue.history.append(own)
    return message.content or "", calls


async def chat(dialogue: Dialogue) -> Answered:
    return await completion(
        dialogue, "openai", api_base=dialogue.job["base_url"], api_key=dialogue.job["api_key"]
    )


async def messages(dialogue: Dialogue) -> Answered:
    base = dialogue.job["anthropic_base_url"]
    return await completion(dialogue, "anthropic", api_base=base, api_key=dialogue.job["api_key"])


async def responses(dialogue: Dialogue) -> Answered:
    """One answer by `litellm.aresponses`."""
    job = dialogue.job
    given: dict[str, Any] = {
        "model": f"openai/{dialogue.task['model']}",
        "instructions": dialogue.task["system"],
        "input": list(dialogue.history),
        "tools": [{"type": "function", "strict": True, **tool} for tool in dialogue.task["tools"]],
        "api_base": job["base_url"],
        "api_key": job["api_key"],
        "num_retries": 0,
    }
    if job["stream"]:
        answer: Any = None
        async for event in await litellm.aresponses(stream=True, **given):
            dialogue.told.append(str(event.type))
            if event.type == "response.completed":
                answer = event.response
    else:
        answer = await litellm.aresponses(**given)
    output = [
        item if isinstance(item, dict) else item.model_dump(exclude_unset=True) for item in answer.output
    ]
    dialogue.history += output
    text = "".join(part["text"] for item in output if item["type"] == "message" for part in item["content"])
    return text, [
        (item["call_id"], item["name"], item["arguments"])
        for item in output
        if item["type"] == "function_call"
    ]


async def asking_again(dialogue: Dialogue, client: Any) -> Answered:
    """The first answer that can be gone on with. Where nothing is to fail, the first failure counts."""
    for _ in range(TRIES if dialogue.job["patient"] else 0):
        length = len(dialogue.history)
        try:
            return checked(dialogue, await client(dialogue))
        except Exception:
            del dialogue.history[length:]
    return checked(dialogue, await client(dialogue))


def checked(dialogue: Dialogue, answered: Answered) -> Answered:
    """The answer. ValueError where it is cut, empty, or calls what there isn't."""
    text, calls = answered
    names = {tool["name"] for tool in dialogue.task["tools"]}
    if len({call for call, _, _ in calls}) < len(calls) or not {name for _, name, _ in calls} <= names:
        raise ValueError(f"no such calls: {calls}")
    for _, _, arguments in calls:
        json.loads(arguments)
    if not calls and (not text.endswith(".") or text == PREAMBLE):
        raise ValueError(f"the answer isn't whole: {text!r}")
    return answered


CLIENTS = {"chat": chat, "messages": messages, "responses": responses}


async def converse(job: dict[str, Any]) -> dict[str, Any]:
    dialogue, answers = Dialogue(job), []
    client = CLIENTS[job["client"]]
    for question in dialogue.task["questions"]:
        dialogue.history.append({"role": "user", "content": question})
        while True:
            text, calls = await asking_again(dialogue, client)
            if not calls:
                break
            for call, name, arguments in calls:
                output = dialogue.run(name, arguments)
                dialogue.history.append(
                    {"type": "function_call_output", "call_id": call, "output": output}
                    if job["client"] == "responses"
                    else {"role": "tool", "tool_call_id": call, "content": output}
                )
        answers.append(text)
    return {"answers": answers, "calls": dialogue.calls, "history": [dialogue.history, dialogue.told]}


async def main() -> None:
    # LiteLLM prints hints; what we say goes to the real output.
    out, sys.stdout = sys.stdout, sys.stderr
    while line := await asyncio.to_thread(sys.stdin.readline):
        try:
            outcome = await converse(json.loads(line))
        except Exception as error:
            outcome = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(outcome), file=out, flush=True)


asyncio.run(main())
