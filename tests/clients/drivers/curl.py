"""Plain `curl`: a process for each request, the body on its standard input."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from tests.clients import shop
from tests.clients.drivers.anthropic_messages import TOOLS as MESSAGES_TOOLS
from tests.clients.drivers.openai_chat import COMPLETE
from tests.clients.drivers.openai_chat import TOOLS as CHAT_TOOLS
from tests.clients.drivers.openai_responses import TOOLS as RESPONSES_TOOLS
from tests.clients.job import MODEL, Desk, Job, Outcome, Row
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


@dataclass(frozen=True, slots=True)
class Chat:
    """A conversation on Chat Completions: how it opens, what is asked, and what came."""

    job: Job
    history: list[Any]

    @classmethod
    def begun(cls, job: Job) -> Chat:
        return cls(job, [{"role": "system", "content": shop.SYSTEM}])

    async def ask(self) -> Any:
        body = {"model": MODEL, "messages": self.history, "tools": CHAT_TOOLS}
        url = f"{self.job.base_url}/chat/completions"
        return await curl(self.job, url, body, f"authorization: Bearer {self.job.api_key}")

    def read(self, said: Any) -> tuple[str, list[tuple[str, str, Any]]]:
        """The text, and the calls as (id, name, arguments)."""
        message = _message(said) if self.job.stream else said["choices"][0]["message"]
        made = [
            (one["id"], one["function"]["name"], one["function"]["arguments"])
            for one in message.get("tool_calls") or []
        ]
        ends = said[-1]["choices"][0] if self.job.stream else said["choices"][0]
        usable(message["content"], made, ended=ends["finish_reason"] in COMPLETE)
        self.history.append(message)
        return message["content"], made

    def answered(self, results: list[tuple[str, str]]) -> None:
        self.history.extend(
            {"role": "tool", "tool_call_id": call, "content": result} for call, result in results
        )


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


@dataclass(frozen=True, slots=True)
class Responses:
    """A conversation on Responses."""

    job: Job
    history: list[Any]

    @classmethod
    def begun(cls, job: Job) -> Responses:
        return cls(job, [])

    async def ask(self) -> Any:
        body = {"model": MODEL, "input": self.history, "instructions": shop.SYSTEM, "tools": RESPONSES_TOOLS}
        key = f"authorization: Bearer {self.job.api_key}"
        return await curl(self.job, f"{self.job.base_url}/responses", body, key)

    def read(self, said: Any) -> tuple[str, list[tuple[str, str, Any]]]:
        response = said[-1]["response"] if self.job.stream else said
        output = response["output"]
        text = "".join(item["content"][0]["text"] for item in output if item["type"] == "message")
        made = [
            (item["call_id"], item["name"], item["arguments"])
            for item in output
            if item["type"] == "function_call"
        ]
        usable(text, made, ended=response["status"] == "completed")
        self.history.extend(output)
        return text, made

    def answered(self, results: list[tuple[str, str]]) -> None:
        self.history.extend(
            {"type": "function_call_output", "call_id": call, "output": result} for call, result in results
        )


@dataclass(frozen=True, slots=True)
class Messages:
    """A conversation on Anthropic's Messages."""

    job: Job
    history: list[Any]

    @classmethod
    def begun(cls, job: Job) -> Messages:
        return cls(job, [])

    async def ask(self) -> Any:
        body = {"model": MODEL, "max_tokens": 2000, "system": shop.SYSTEM, "tools": MESSAGES_TOOLS}
        headers = (f"x-api-key: {self.job.api_key}", "anthropic-version: 2023-06-01")
        url = f"{self.job.anthropic_base_url}/v1/messages"
        return await curl(self.job, url, {**body, "messages": self.history}, *headers)

    def read(self, said: Any) -> tuple[str, list[tuple[str, str, Any]]]:
        content = blocks_of(said) if self.job.stream else said["content"]
        text = "".join(block["text"] for block in content if block["type"] == "text")
        made = [
            (block["id"], block["name"], block["input"]) for block in content if block["type"] == "tool_use"
        ]
        last = said[-2]["delta"] if self.job.stream else said
        usable(text, made, ended=last["stop_reason"] in ("end_turn", "tool_use"))
        self.history.append({"role": "assistant", "content": content})
        return text, made

    def answered(self, results: list[tuple[str, str]]) -> None:
        blocks = [{"type": "tool_result", "tool_use_id": call, "content": result} for call, result in results]
        self.history.append({"role": "user", "content": blocks})


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


Conversation = Chat | Responses | Messages


async def _turn(conversation: Conversation) -> tuple[str, list[tuple[str, str, Any]]]:
    return conversation.read(await conversation.ask())


async def converse(job: Job, *, begin: Callable[[Job], Conversation]) -> Outcome:
    desk, outcome, conversation = Desk(), Outcome(), begin(job)
    for question in shop.QUESTIONS:
        conversation.history.append({"role": "user", "content": question})
        while True:
            text, calls = await asking_again(job, partial(_turn, conversation))
            if not calls:
                break
            conversation.answered([(call, desk.run(name, given)) for call, name, given in calls])
        outcome.answers.append(text)
    outcome.calls, outcome.history = desk.calls, conversation.history
    return outcome


ROWS = tuple(
    Row("curl", protocol, partial(converse, begin=begin), "system:curl", needs="curl")
    for protocol, begin in (
        ("Chat Completions", Chat.begun),
        ("Responses", Responses.begun),
        ("Messages", Messages.begun),
    )
)
