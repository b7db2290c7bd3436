"""A plain tool-calling agent on the OpenAI SDK. Of the gateway it knows a base URL and a key, as any does."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
import openai
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from crosswind.simulators.draws import stable_seed
from crosswind.simulators.environment import Episode, Message
from crosswind.simulators.episodes.record import Played
from crosswind.simulators.episodes.users import OwnUser, User

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
    """How often an answer that can't be used or doesn't come is asked for anew, besides the SDK's retries."""


@dataclass(slots=True)
class Answer:
    """One answer of the model, streamed or not."""

    text: str
    calls: list[dict[str, Any]]
    """Tool calls as the API writes them."""
    output_tokens: int
    finish_reason: str | None = None


class ToolAgent:
    """Plays episodes: asks the model, carries out its calls, talks to the user. Keeps no state."""

    def __init__(
        self, instructions: str, tools: Sequence[Mapping[str, Any]], settings: AgentSettings
    ) -> None:
        self._instructions = instructions
        self._tools = list(tools)
        self._settings = settings

    async def play(
        self, client: AsyncOpenAI, episode: Episode, seed_key: tuple[object, ...], user: User | None = None
    ) -> Played:
        """Play the episode to its end, with its own user or with another one. Each turn's seed is a digest of
        the key and the turn's number."""
        user = user or OwnUser(episode)
        turns = tool_calls = output_tokens = 0
        try:
            opening = await user.opening()
        except openai.APIError as error:
            return Played(turns, tool_calls, output_tokens, f"user: {describe(error)}")
        messages: list[Message] = [
            {"role": "system", "content": self._instructions},
            {"role": "user", "content": opening},
        ]
        while turns < self._settings.max_turns:
            try:
                answer = await self._answer(client, messages, stable_seed(*seed_key, turns))
            except (openai.APIError, httpx.HTTPError) as error:
                full = isinstance(error, openai.APIError) and error.code == CONTEXT_FULL
                return Played(turns, tool_calls, output_tokens, None if full else describe(error))
            turns += 1
            tool_calls += len(answer.calls)
            output_tokens += answer.output_tokens
            messages.append(_message(answer))
            if answer.calls:
                messages.extend(_carry_out(episode, answer.calls))
                continue
            try:
                reply = await user.reply(answer.text)
            except openai.APIError as error:
                return Played(turns, tool_calls, output_tokens, f"user: {describe(error)}")
            if reply is None:
                break
            messages.append({"role": "user", "content": reply})
        return Played(turns, tool_calls, output_tokens)

    async def _answer(self, client: AsyncOpenAI, messages: list[Message], seed: int) -> Answer:
        """The model's answer, asked for anew while patience lasts. What can't be used then is used all the
        same, if anything came.
        """
        for left in range(self._settings.patience, -1, -1):
            try:
                answer = await self._ask(client, messages, seed)
            except (openai.APIError, httpx.HTTPError):
                if left == 0:
                    raise
                continue
            if left == 0 or self._usable(answer):
                return answer
        raise AssertionError("the last round returns or raises")

    def _usable(self, answer: Answer) -> bool:
        """Whether the answer is whole, and has calls that can be carried out."""
        known = {tool["function"]["name"] for tool in self._tools}
        calls = answer.calls
        return (
            answer.finish_reason in ("stop", "tool_calls")
            and bool(calls or answer.text.strip())
            and len({call["id"] for call in calls}) == len(calls)
            and all(call["function"]["name"] in known for call in calls)
            and all(_is_object(call["function"]["arguments"]) for call in calls)
        )

    async def _ask(self, client: AsyncOpenAI, messages: list[Message], seed: int) -> Answer:
        # Messages and tools go by extra_body: given as named arguments, all of them are walked against their
        # types at every turn, which is half of a request's CPU. What is sent is the same.
        body = {"messages": messages, "tools": self._tools}
        settings = self._settings
        if not settings.stream:
            whole = await client.chat.completions.create(
                model=settings.model,
                messages=[],
                temperature=settings.temperature,
                max_tokens=settings.max_tokens,
                seed=seed,
                extra_body=body,
                timeout=settings.timeout_s,
            )
            return _whole(whole)
        chunks = await client.chat.completions.create(
            model=settings.model,
            messages=[],
            temperature=settings.temperature,
            max_tokens=settings.max_tokens,
            seed=seed,
            extra_body=body,
            timeout=settings.timeout_s,
            stream=True,
            stream_options={"include_usage": True},
        )
        gathered = Answer("", [], 0)
        async with chunks:
            async for chunk in chunks:
                _gather(gathered, chunk)
        return gathered


def describe(error: Exception) -> str:
    """An error in one short line: its class, with the HTTP status where it has one."""
    status = getattr(error, "status_code", None)
    return f"{type(error).__name__}" + (f" {status}" if status else "")


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False


def _whole(completion: ChatCompletion) -> Answer:
    choice = completion.choices[0]
    message = choice.message
    calls = [
        _call(call.id, call.function.name, call.function.arguments)
        for call in message.tool_calls or ()
        if call.type == "function"
    ]
    usage = completion.usage
    tokens = usage.completion_tokens if usage else 0
    return Answer(message.content or "", calls, tokens, choice.finish_reason)


def _gather(answer: Answer, chunk: ChatCompletionChunk) -> None:
    if chunk.usage is not None:
        answer.output_tokens = chunk.usage.completion_tokens
    for choice in chunk.choices:
        answer.finish_reason = choice.finish_reason or answer.finish_reason
        answer.text += choice.delta.content or ""
        for delta in choice.delta.tool_calls or ():
            while len(answer.calls) <= delta.index:
                answer.calls.append(_call("", "", ""))
            call = answer.calls[delta.index]
            call["id"] = call["id"] or delta.id or ""
            if delta.function is not None:
                call["function"]["name"] += delta.function.name or ""
                call["function"]["arguments"] += delta.function.arguments or ""


def _call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _message(answer: Answer) -> Message:
    if answer.calls:
        return {"role": "assistant", "content": answer.text or None, "tool_calls": answer.calls}
    return {"role": "assistant", "content": answer.text}


def _carry_out(episode: Episode, calls: list[dict[str, Any]]) -> list[Message]:
    return [
        {
            "role": "tool",
            "tool_call_id": call["id"],
            "content": episode.call(call["function"]["name"], call["function"]["arguments"]),
        }
        for call in calls
    ]
