"""Agents on the real SDKs that keep their own history, and policies that meet tools shown otherwise."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anthropic
import openai

from crosswind.testing import Answer, Call, Dialogue, ScriptedProvider, Step, script
from tests.gateway.closed_world import TOOL, profile, tool
from tests.gateway.servers import Running, gateway

QUESTION = "What did ACME order?"


@dataclass(frozen=True)
class Turn:
    """What an agent gets of an answer. `usage`: of the prompt, and of the answer."""

    text: str
    calls: Sequence[Call]
    usage: tuple[int, int]
    id: str
    whole: Any
    """The answer as its SDK has it."""

    @property
    def called(self) -> list[str]:
        return [call.name for call in self.calls]


def look_up(call: Call) -> str:
    return json.dumps({"orders": ["W1"], "of": call.id})


class Agent(ABC):
    """An agent of the session `one`, or of the one with these `keys`. `more`: what it asks besides."""

    base_url = "base_url"
    """The member of a session that has the base URL."""

    path: str
    """The route that it asks."""
    counts: tuple[str, str]
    """The names of the usage's counts."""

    def __init__(
        self, running: Running, *, stream: bool = False, keys: dict[str, Any] | None = None, **more: Any
    ) -> None:
        self.stream = stream
        self.more = more
        self.history: list[Any] = []
        base = f"{running.data}/s/one" + ("/v1" if self.base_url == "base_url" else "")
        self.sdk = self._connect(**(keys or {"base_url": base, "api_key": "unused-but-long"}), max_retries=0)
        self.run_tool: Callable[[Call], str] = look_up
        self.last: Turn

    async def __aenter__(self) -> Agent:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.sdk.close()

    async def ask(self, question: str = QUESTION, **more: Any) -> Turn:
        return await self.turn({"role": "user", "content": question}, **more)

    async def answer_calls(self, **more: Any) -> Turn:
        results = [(call.id, self.run_tool(call)) for call in self.last.calls]
        return await self.turn(*self._results(results), **more)

    async def turn(self, *new: Any, **more: Any) -> Turn:
        """One turn with new messages."""
        self.history += new
        self.last = await self._ask(list(new), {**self.more, **more})
        return self.last

    def go_on_from(self, other: Any) -> None:
        """Take over the dialogue of another agent."""
        self.history, self.last = other.history, other.last

    @abstractmethod
    def choose(self) -> dict[str, Any]:
        """The members that force a call of the tool."""

    @abstractmethod
    def _connect(self, **keys: Any) -> Any: ...

    @abstractmethod
    async def _ask(self, new: list[Any], more: dict[str, Any]) -> Turn: ...

    @abstractmethod
    def _results(self, results: Sequence[tuple[str, str]]) -> list[Any]: ...


class ChatAgent(Agent):
    path = "/v1/chat/completions"
    counts = ("prompt_tokens", "completion_tokens")

    def _connect(self, **keys: Any) -> Any:
        return openai.AsyncOpenAI(**keys)

    def choose(self) -> dict[str, Any]:
        return {"tool_choice": {"type": "function", "function": {"name": TOOL}}}

    def _results(self, results: Sequence[tuple[str, str]]) -> list[Any]:
        return [{"role": "tool", "tool_call_id": call, "content": content} for call, content in results]

    async def _ask(self, new: list[Any], more: dict[str, Any]) -> Turn:
        asked: Any = {"model": "tiny", "messages": self.history, "tools": [tool()], **more}
        if self.stream:
            message, whole, usage = await self._stream(asked)
        else:
            whole = await self.sdk.chat.completions.create(**asked)
            message, usage = whole.choices[0].message.to_dict(exclude_none=True), whole.usage
        self.history.append(message)
        calls = [
            Call(call["function"]["name"], json.loads(call["function"]["arguments"]), call["id"])
            for call in message.get("tool_calls", ())
        ]
        told = usage.prompt_tokens, usage.completion_tokens
        return Turn(message.get("content") or "", calls, told, whole.id, whole)

    async def _stream(self, asked: Any) -> tuple[dict[str, Any], Any, Any]:
        """The message put together as agents do it: by role, text, and the calls' indices."""
        message: dict[str, Any] = {"content": ""}
        calls: dict[int, dict[str, Any]] = {}
        given: list[Any] = []
        async with await self.sdk.chat.completions.create(
            **asked, stream=True, stream_options={"include_usage": True}
        ) as chunks:
            async for chunk in chunks:
                given.append(chunk)
                for choice in chunk.choices:
                    if choice.delta.role is not None:
                        assert "role" not in message, "one role"
                        message["role"] = choice.delta.role
                    message["content"] += choice.delta.content or ""
                    for piece in choice.delta.tool_calls or ():
                        merge(calls, piece.to_dict(exclude_none=True))
        assert len({(chunk.id, chunk.model) for chunk in given}) == 1, "one answer"
        assert sorted(calls) == list(range(len(calls))), "indices without a gap"
        (usage,) = [chunk.usage for chunk in given if chunk.usage is not None]
        made = {"tool_calls": [calls[index] for index in sorted(calls)]} if calls else {}
        return message | made, given[0], usage


def merge(calls: dict[int, dict[str, Any]], piece: dict[str, Any]) -> None:
    call = calls.setdefault(
        piece.pop("index"), {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
    )
    call["id"] = piece.get("id", call["id"])
    for name, value in piece.get("function", {}).items():
        call["function"][name] += value


class MessagesAgent(Agent):
    """It keeps the thinking that it is given."""

    base_url = "anthropic_base_url"
    path = "/v1/messages"
    counts = ("input_tokens", "output_tokens")

    def _connect(self, **keys: Any) -> Any:
        return anthropic.AsyncAnthropic(**keys)

    def choose(self) -> dict[str, Any]:
        return {"tool_choice": {"type": "tool", "name": TOOL}, "thinking": {"type": "disabled"}}

    def _results(self, results: Sequence[tuple[str, str]]) -> list[Any]:
        blocks = [
            {"type": "tool_result", "tool_use_id": call, "content": content} for call, content in results
        ]
        return [{"role": "user", "content": blocks}]

    async def _ask(self, new: list[Any], more: dict[str, Any]) -> Turn:
        function = tool()["function"]
        declared = {"name": function["name"], "description": function["description"]}
        tools = [{**declared, "input_schema": function["parameters"], "cache_control": {"type": "ephemeral"}}]
        asked: Any = {"model": "claude", "max_tokens": 4096, "messages": self.history, "tools": tools}
        asked |= {"thinking": {"type": "enabled", "budget_tokens": 1024}, **more}
        if self.stream:
            async with self.sdk.messages.stream(**asked) as stream:
                kinds = [event.type async for event in stream]
                whole: Any = await stream.get_final_message()
            assert kinds.count("message_start") == kinds.count("message_delta") == 1
            assert kinds[-1] == "message_stop"
        else:
            whole = await self.sdk.messages.create(**asked)
        self.history.append({"role": "assistant", "content": [block.to_dict() for block in whole.content]})
        text = "".join(block.text for block in whole.content if block.type == "text")
        calls = [
            Call(block.name, block.input, block.id) for block in whole.content if block.type == "tool_use"
        ]
        return Turn(text, calls, (whole.usage.input_tokens, whole.usage.output_tokens), whole.id, whole)


class ResponsesAgent(Agent):
    """`linked`: it names the response it goes on from."""

    path = "/v1/responses"
    counts = ("input_tokens", "output_tokens")
    linked = False

    def _connect(self, **keys: Any) -> Any:
        return openai.AsyncOpenAI(**keys)

    def choose(self) -> dict[str, Any]:
        return {"tool_choice": {"type": "function", "name": TOOL}}

    def _results(self, results: Sequence[tuple[str, str]]) -> list[Any]:
        return [
            {"type": "function_call_output", "call_id": call, "output": output} for call, output in results
        ]

    async def _ask(self, new: list[Any], more: dict[str, Any]) -> Turn:
        asked: Any = {"model": "m", "tools": [function()], "input": self.history}
        asked["reasoning"] = {"effort": "low", "summary": "auto"}
        if self.linked:
            before = getattr(self, "last", None)
            asked |= {"input": new, "previous_response_id": before.id if before else None}
        asked |= more
        whole = await (self._stream(asked) if self.stream else self.sdk.responses.create(**asked))
        self.history += [item.to_dict(exclude_unset=True) for item in whole.output]
        assert [one.name for one in whole.tools] == [one["name"] for one in asked["tools"]]
        assert whole.previous_response_id == asked.get("previous_response_id")
        calls = [
            Call(item.name, json.loads(item.arguments), item.call_id)
            for item in whole.output
            if item.type == "function_call"
        ]
        usage = whole.usage.input_tokens, whole.usage.output_tokens
        return Turn(whole.output_text, calls, usage, whole.id, whole)

    async def _stream(self, asked: Any) -> Any:
        """The response, which is what the events say."""
        created: Any = None
        items: dict[int, Any] = {}
        async with await self.sdk.responses.create(**asked, stream=True) as events:
            number = 0
            async for event in events:
                assert event.sequence_number == number
                number += 1
                if event.type == "response.created":
                    assert created is None
                    created = event.response
                elif event.type == "response.output_item.added":
                    assert event.output_index == len(items)
                    items[event.output_index] = event.item
                elif event.type == "response.output_item.done":
                    assert items[event.output_index].id == event.item.id
                    items[event.output_index] = event.item
                elif event.type == "response.completed":
                    assert event.response.id == created.id
                    assert [one.to_dict() for one in event.response.output] == [
                        one.to_dict() for _, one in sorted(items.items())
                    ]
                    return event.response
        raise AssertionError("the stream did not complete")


class LinkedAgent(ResponsesAgent):
    linked = True


async def open_session(running: Running, agent: type[Agent], **asked: Any) -> dict[str, Any]:
    """The keys of a new session."""
    session = (await running.api("POST", "/api/sessions", asked)).json()
    return {"base_url": session[agent.base_url], "api_key": session["api_key"]}


def function(**more: Any) -> dict[str, Any]:
    """The tool as Responses declares it."""
    return {"type": "function", **tool(**more)["function"], "strict": False}


def names(dialogue: Dialogue) -> list[str]:
    """The tools that the policy is shown."""
    return [one.name for one in dialogue.tools]


def true_and_phantom(dialogue: Dialogue) -> tuple[str, str]:
    """The true tool's shown name and the phantom's, which has the full name."""
    (true,) = [name for name in names(dialogue) if name != TOOL]
    assert TOOL in names(dialogue)
    return true, TOOL


def calling(*which: int, text: str | None = None) -> Step:
    """Calls of the true tool (0) and of the phantom (1)."""

    def step(dialogue: Dialogue) -> Answer:
        shown = true_and_phantom(dialogue)
        calls = tuple(Call(shown[one], {"customer": f"ACME {at}"}) for at, one in enumerate(which))
        return Answer(text, calls, reasoning=f"Thought {len(dialogue.items)}.")

    return step


@asynccontextmanager
async def play(
    tmp_path: Path, make: Callable[[Running], Agent], operator: str, *steps: Any
) -> AsyncIterator[tuple[ScriptedProvider, Running, Any]]:
    """A policy that follows these steps, and an agent to whom its tools are not shown as declared."""
    async with (
        ScriptedProvider(script(*steps), names_in_two=True) as app,
        gateway(tmp_path, app.url, noise=profile(operator)) as running,
        make(running) as agent,
    ):
        yield app, running, agent
    check_history(app)


def check_history(app: ScriptedProvider) -> None:
    """The provider had nothing to refuse, and met again what it had produced."""
    assert not app.refusals and not app.complaints
    for before, after in zip(app.dialogues, app.dialogues[1:], strict=False):
        assert after.items[: len(before.items)] == before.items
