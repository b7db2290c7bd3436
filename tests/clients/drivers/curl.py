"""Plain `curl`: a process for each request, the body on its standard input."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from tests.clients import shop
from tests.clients.drivers.anthropic_messages import TOOLS as MESSAGES_TOOLS
from tests.clients.drivers.openai_chat import COMPLETE
from tests.clients.drivers.openai_chat import TOOLS as CHAT_TOOLS
from tests.clients.drivers.openai_responses import TOOLS as RESPONSES_TOOLS
from tests.clients.job import MODEL, Desk, Job, Outcome, Row, put_questions
from tests.clients.patience import asking_again, usable


async def curl(job: Job, url: str, body: Any, *headers: str) -> Any:
    """A JSON document, or the events of a stream, as curl prints them. RuntimeError where curl fails."""
    named = [part for header in ("content-type: application/json", *headers) for part in ("-H", header)]
    process = await asyncio.create_subprocess_exec(
        *("curl", "--silent", "--show-error", "--fail-with-body", "--no-buffer", "--noproxy", "*"),
        *("--data-binary", "@-", *named, url),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, wrong = await process.communicate(json.dumps({**body, "stream": job.stream}).encode())
    if process.returncode:
        raise RuntimeError(f"curl ended with {process.returncode}: {wrong.decode()} {out.decode()}")
    if not job.stream:
        return json.loads(out)
    data = [line[6:] for line in out.decode().split("\n") if line.startswith("data: ")]
    return [json.loads(one) for one in data if one != "[DONE]"]


Call = tuple[str, str, Any]
"""Its id, the tool's name, and the arguments."""
Asked = tuple[list[Any], str, list[Call]]
"""What an answer adds to the history, its text, and its calls."""


async def ask_chat(job: Job, history: list[Any]) -> Asked:
    messages = [{"role": "system", "content": shop.SYSTEM}, *history]
    body = {"model": MODEL, "messages": messages, "tools": CHAT_TOOLS}
    key = f"authorization: Bearer {job.api_key}"
    said = await curl(job, f"{job.base_url}/chat/completions", body, key)
    message = _message(said) if job.stream else said["choices"][0]["message"]
    calls = [
        (one["id"], one["function"]["name"], one["function"]["arguments"])
        for one in message.get("tool_calls") or []
    ]
    last = said[-1] if job.stream else said
    usable(message["content"], calls, ended=last["choices"][0]["finish_reason"] in COMPLETE)
    return [message], message["content"], calls


def _message(chunks: Any) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": ""}
    for chunk in chunks:
        delta = chunk["choices"][0]["delta"]
        message["content"] += delta.get("content") or ""
        for part in delta.get("tool_calls") or []:
            calls = message.setdefault("tool_calls", [])
            if part["index"] == len(calls):
                calls.append({"id": part["id"], "type": "function", "function": dict(part["function"])})
            else:
                calls[part["index"]]["function"]["arguments"] += part["function"]["arguments"]
    return message


async def ask_responses(job: Job, history: list[Any]) -> Asked:
    body = {"model": MODEL, "input": history, "instructions": shop.SYSTEM, "tools": RESPONSES_TOOLS}
    said = await curl(job, f"{job.base_url}/responses", body, f"authorization: Bearer {job.api_key}")
    response = said[-1]["response"] if job.stream else said
    output = response["output"]
    text = "".join(item["content"][0]["text"] for item in output if item["type"] == "message")
    calls = [
        (item["call_id"], item["name"], item["arguments"])
        for item in output
        if item["type"] == "function_call"
    ]
    usable(text, calls, ended=response["status"] == "completed")
    return output, text, calls


async def ask_messages(job: Job, history: list[Any]) -> Asked:
    body = {"model": MODEL, "max_tokens": 2000, "system": shop.SYSTEM, "tools": MESSAGES_TOOLS}
    headers = (f"x-api-key: {job.api_key}", "anthropic-version: 2023-06-01")
    url = f"{job.anthropic_base_url}/v1/messages"
    said = await curl(job, url, {**body, "messages": history}, *headers)
    content = blocks_of(said) if job.stream else said["content"]
    text = "".join(block["text"] for block in content if block["type"] == "text")
    calls = [(block["id"], block["name"], block["input"]) for block in content if block["type"] == "tool_use"]
    last = said[-2]["delta"] if job.stream else said
    usable(text, calls, ended=last["stop_reason"] in ("end_turn", "tool_use"))
    return [{"role": "assistant", "content": content}], text, calls


def blocks_of(events: Any) -> list[dict[str, Any]]:
    """The content that a stream's events make."""
    blocks: list[dict[str, Any]] = []
    partial_json: dict[int, str] = {}
    for event in events:
        if event["type"] == "content_block_start":
            assert event["index"] == len(blocks)
            blocks.append(dict(event["content_block"]))
        elif event["type"] == "content_block_delta":
            block, delta = blocks[event["index"]], event["delta"]
            for member in ("text", "thinking", "signature"):
                if member in delta:
                    block[member] += delta[member]
            if "partial_json" in delta:
                partial_json[event["index"]] = partial_json.get(event["index"], "") + delta["partial_json"]
    for index, text in partial_json.items():
        blocks[index]["input"] = json.loads(text or "{}")
    return blocks


Results = list[tuple[str, str]]
"""Each call's id, and what the tool gave."""


def chat_items(results: Results) -> list[Any]:
    return [{"role": "tool", "tool_call_id": call, "content": result} for call, result in results]


def responses_items(results: Results) -> list[Any]:
    return [{"type": "function_call_output", "call_id": call, "output": result} for call, result in results]


def messages_items(results: Results) -> list[Any]:
    blocks = [{"type": "tool_result", "tool_use_id": call, "content": result} for call, result in results]
    return [{"role": "user", "content": blocks}] if blocks else []


async def converse(
    job: Job,
    *,
    ask: Callable[[Job, list[Any]], Awaitable[Asked]],
    result_items: Callable[[Results], list[Any]],
) -> Outcome:
    desk, history = Desk(), list[Any]()

    async def ask_and_run() -> tuple[str, list[Any]]:
        said, text, calls = await asking_again(job, partial(ask, job, history))
        history.extend(said)
        return text, result_items([(call, desk.run(name, given)) for call, name, given in calls])

    return Outcome(await put_questions(history, ask_and_run), desk.calls, history)


ROWS = tuple(
    Row("curl", protocol, partial(converse, ask=ask, result_items=items), "system:curl", needs="curl")
    for protocol, ask, items in (
        ("Chat Completions", ask_chat, chat_items),
        ("Responses", ask_responses, responses_items),
        ("Messages", ask_messages, messages_items),
    )
)
