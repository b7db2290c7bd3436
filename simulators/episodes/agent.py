"""A plain tool-calling agent on the OpenAI SDK. Of the gateway it knows a base URL and a key, as any does."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import httpx
import openai
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from crosswind.simulators.draws import stable_seed
from crosswind.simulators.environment import Environment, Episode, Message, equip
from crosswind.simulators.episodes.record import Playthrough
from crosswind.simulators.episodes.tools import OwnTools, ToolObject, Tools
from crosswind.simulators.episodes.users import EpisodeUser, User

CONTEXT_FULL = "context_length_exceeded"
"""The error code of a policy that filled its context: its own failure, not the infrastructure's."""


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """How the agent samples and when it stops."""

    model: str = "policy"
    temperature: float = 1.0
    max_tokens: int = 32
    """Tokens in one answer."""
    max_turns: int = 10
    """Answers in one episode."""
    stream: bool = False
    timeout_s: float = 120.0
    """For one request, from its sending to the whole answer."""
    patience: int = 0
    """How often to ask again after an unusable or missing answer, besides the SDK's own retries."""


@dataclass(slots=True)
class AgentAnswer:
    """One answer of the model, streamed or not."""

    text: str
    calls: list[dict[str, Any]]
    """Tool calls as the API writes them."""
    output_tokens: int
    finish_reason: str | None = None


class ToolAgent:
    """Plays episodes: asks the model, executes its tool calls, talks to the user. Keeps no state."""

    def __init__(self, environment: Environment, settings: AgentSettings) -> None:
        self._environment = environment
        self._settings = settings

    async def play(
        self,
        client: AsyncOpenAI,
        episode: Episode,
        seed_key: tuple[object, ...],
        user: User | None = None,
        tools: Tools | None = None,
    ) -> Playthrough:
        """Play the episode to its end, with its own user and tools or with others.

        Each turn's seed is a digest of the key and the turn's number. Raises EnvironmentFailedError.
        """
        equipment = equip(self._environment, episode)
        user = user or EpisodeUser(episode)
        served, tools = tools, tools or OwnTools(episode, list(equipment.tools))
        turns = tool_calls = output_tokens = 0

        def end(error: str | None = None) -> Playthrough:
            return Playthrough(turns, tool_calls, output_tokens, error)

        try:
            opening = await user.opening()
        except openai.APIError as error:
            return end(f"user: {describe(error)}")
        try:
            shown = list(await tools.list_tools())
        except httpx.HTTPError as error:
            return end(f"tools: {describe(error)}")
        messages: list[Message] = [
            {"role": "system", "content": equipment.instructions},
            {"role": "user", "content": opening},
        ]
        while turns < self._settings.max_turns:
            try:
                answer = await self._answer(client, messages, shown, stable_seed(*seed_key, turns))
            except (openai.APIError, httpx.HTTPError) as error:
                full = isinstance(error, openai.APIError) and error.code == CONTEXT_FULL
                return end(None if full else describe(error))
            turns += 1
            tool_calls += len(answer.calls)
            output_tokens += answer.output_tokens
            messages.append(_assistant_message(answer))
            if answer.calls:
                messages.extend([await _execute(tools, call) for call in answer.calls])
                continue
            try:
                reply = await user.reply(answer.text)
            except openai.APIError as error:
                return end(f"user: {describe(error)}")
            if reply is None:
                break
            messages.append({"role": "user", "content": reply})
            if (now := equip(self._environment, episode)).tools != equipment.tools:
                equipment, tools = now, served or OwnTools(episode, list(now.tools))
                try:
                    shown = list(await tools.list_tools())
                except httpx.HTTPError as error:
                    return end(f"tools: {describe(error)}")
        return end()

    async def _answer(
        self, client: AsyncOpenAI, messages: list[Message], tools: list[ToolObject], seed: int
    ) -> AgentAnswer:
        """Ask the model, and again while patience lasts. The last answer is taken even if it isn't usable."""
        for left in range(self._settings.patience, -1, -1):
            try:
                answer = await self._ask(client, messages, tools, seed)
            except (openai.APIError, httpx.HTTPError):
                if left == 0:
                    raise
                continue
            if left == 0 or _is_usable(answer, tools):
                return answer
        raise AssertionError("the last round returns or raises")

    async def _ask(
        self, client: AsyncOpenAI, messages: list[Message], tools: list[ToolObject], seed: int
    ) -> AgentAnswer:
        settings = self._settings
        request: dict[str, Any] = {
            "model": settings.model,
            "messages": [],
            "temperature": settings.temperature,
            "max_tokens": settings.max_tokens,
            "seed": seed,
            # As named arguments, messages and tools would be validated against their types at every turn,
            # which is half of a request's CPU. What is sent is the same.
            "extra_body": {"messages": messages, "tools": tools},
            "timeout": settings.timeout_s,
        }
        create = client.chat.completions.create
        if not settings.stream:
            return _read_completion(await create(**request))
        chunks = await create(**request, stream=True, stream_options={"include_usage": True})
        gathered = AgentAnswer("", [], 0)
        async with chunks:
            async for chunk in chunks:
                _add_chunk(gathered, chunk)
        return gathered


def _is_usable(answer: AgentAnswer, tools: list[ToolObject]) -> bool:
    """Whether the answer is whole and its calls can be executed."""
    known = {tool["function"]["name"] for tool in tools}
    calls = answer.calls
    return (
        answer.finish_reason in ("stop", "tool_calls")
        and bool(calls or answer.text.strip())
        and len({call["id"] for call in calls}) == len(calls)
        and all(call["function"]["name"] in known for call in calls)
        and all(_is_object(call["function"]["arguments"]) for call in calls)
    )


def describe(error: Exception) -> str:
    """An error in one short line: its class, with the HTTP status where it has one."""
    status = getattr(error, "status_code", None)
    return f"{type(error).__name__}" + (f" {status}" if status else "")


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False


def _read_completion(completion: ChatCompletion) -> AgentAnswer:
    choice = completion.choices[0]
    message = choice.message
    calls = [
        _call_object(call.id, call.function.name, call.function.arguments)
        for call in message.tool_calls or ()
        if call.type == "function"
    ]
    usage = completion.usage
    tokens = usage.completion_tokens if usage else 0
    return AgentAnswer(message.content or "", calls, tokens, choice.finish_reason)


def _add_chunk(answer: AgentAnswer, chunk: ChatCompletionChunk) -> None:
    if chunk.usage is not None:
        answer.output_tokens = chunk.usage.completion_tokens
    for choice in chunk.choices:
        answer.finish_reason = choice.finish_reason or answer.finish_reason
        answer.text += choice.delta.content or ""
        for delta in choice.delta.tool_calls or ():
            while len(answer.calls) <= delta.index:
                answer.calls.append(_call_object("", "", ""))
            call = answer.calls[delta.index]
            call["id"] = call["id"] or delta.id or ""
            if delta.function is not None:
                call["function"]["name"] += delta.function.name or ""
                call["function"]["arguments"] += delta.function.arguments or ""


def _call_object(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _assistant_message(answer: AgentAnswer) -> Message:
    if answer.calls:
        return {"role": "assistant", "content": answer.text or None, "tool_calls": answer.calls}
    return {"role": "assistant", "content": answer.text}


async def _execute(tools: Tools, call: dict[str, Any]) -> Message:
    function = call["function"]
    content = await tools.call(function["name"], function["arguments"])
    return {"role": "tool", "tool_call_id": call["id"], "content": content}
