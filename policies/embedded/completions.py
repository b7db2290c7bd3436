"""Chat completions: from a checked request to sequences, and from their tokens to an answer or a stream."""

from __future__ import annotations

import asyncio
import itertools
import time
import uuid
from collections import Counter
from collections.abc import AsyncGenerator
from typing import Any

from crosswind.policies.embedded.calls import ParsedCall
from crosswind.policies.embedded.chat import ChatFormat
from crosswind.policies.embedded.choice import CompletionChoice
from crosswind.policies.embedded.request import ChatRequest, RequestError
from crosswind.policies.embedded.sampling import stream_key
from crosswind.policies.embedded.sequence import Sequence
from crosswind.policies.embedded.worker import EngineFailure, Worker
from crosswind.policies.tiny.template import TemplateError

_COUNTED_PROMPTS = 100_000


class Completions:
    """Serves chat completions on one event loop; the worker's thread reports progress to it."""

    def __init__(self, chat: ChatFormat, *, seed: int, default_tokens: int) -> None:
        self._chat = chat
        self._seed = seed
        self._default_tokens = default_tokens
        self._asked: Counter[int] = Counter()
        self._waiting: dict[Sequence, asyncio.Queue[EngineFailure | None]] = {}
        self._loop = asyncio.get_running_loop()

    def report_progress(self, sequences: list[Sequence]) -> None:
        """Called on the worker's thread: these sequences have news."""
        self._loop.call_soon_threadsafe(self._notify, sequences, None)

    def report_failure(self, sequences: list[Sequence], error: Exception) -> None:
        """Called on the worker's thread: these sequences are lost."""
        self._loop.call_soon_threadsafe(self._notify, sequences, EngineFailure(str(error)))

    def _notify(self, sequences: list[Sequence], error: EngineFailure | None) -> None:
        for sequence in sequences:
            queue = self._waiting.get(sequence)
            if queue is not None:
                queue.put_nowait(error)

    def start(self, request: ChatRequest, worker: Worker) -> CompletionAnswer:
        """Tokenise and submit. Raises RequestError, before anything is in flight."""
        try:
            prompt = self._chat.prompt_ids(request.messages, request.tools)
        except TemplateError as error:
            raise RequestError(f"messages can't be rendered: {error}", "messages") from None
        room = worker.shape.context - len(prompt)
        if room < 1:
            raise RequestError(
                f"the prompt has {len(prompt)} tokens, the context is {worker.shape.context}: send less",
                "messages",
                "context_length_exceeded",
            )
        answer = CompletionAnswer(self, request, prompt)
        for index in range(request.n):
            sequence = Sequence(
                prompt=prompt,
                limit=min(room, request.max_tokens or self._default_tokens),
                temperature=request.temperature,
                key=self._noise_key(request, prompt, index),
                ends=frozenset({self._chat.end}),
                stopped=self._stop_test(request.stop),
                streams=request.stream,
                top=request.top_logprobs,
            )
            prefix = f"call_{answer.id[-24:]}_{index}_"
            answer.choices.append(CompletionChoice(index, request, self._chat, sequence, prefix))
        for choice in answer.choices:
            self._waiting[choice.sequence] = answer.news
            worker.submit(choice.sequence)
        return answer

    def release(self, answer: CompletionAnswer) -> None:
        """Forget an answer that was given, or that nobody waits for any more."""
        for choice in answer.choices:
            self._waiting.pop(choice.sequence, None)
            if choice.sequence.finish is None:
                choice.sequence.cancelled = True
            else:
                self._chat.remember(answer.prompt, choice.sequence.tokens, choice.message())

    def _noise_key(self, request: ChatRequest, prompt: list[int], index: int) -> int:
        """A seed gives the same tokens for the same prompt, always; without one, each request differs.

        Without a seed the key still doesn't depend on the order in which other prompts arrived.
        """
        if request.seed is not None:
            return stream_key("seed", request.seed, index, *prompt)
        key = stream_key("engine", self._seed, *prompt)
        if len(self._asked) >= _COUNTED_PROMPTS:
            self._asked.clear()
        self._asked[key] += 1
        return stream_key(key, self._asked[key], index)

    def _stop_test(self, stops: tuple[str, ...]) -> Any:
        if not stops:
            return None
        return lambda tokens: any(stop in self._chat.decode(tokens) for stop in stops)


class CompletionAnswer:
    """One request's answer while it is being sampled."""

    def __init__(self, owner: Completions, request: ChatRequest, prompt: list[int]) -> None:
        self.id = f"chatcmpl-{uuid.uuid4().hex}"
        self.prompt = prompt
        self.choices: list[CompletionChoice] = []
        self.news: asyncio.Queue[EngineFailure | None] = asyncio.Queue()
        self._owner = owner
        self._request = request
        self._created = int(time.time())

    async def whole(self) -> dict[str, Any]:
        """The plain answer, once every choice has finished."""
        try:
            while any(choice.sequence.finish is None for choice in self.choices):
                await self._next()
            for choice in self.choices:
                choice.advance()
        finally:
            self._owner.release(self)
        body = self._head("chat.completion") | {
            "choices": [self._choice_object(choice) for choice in self.choices]
        }
        body["usage"] = self._usage()
        if self._request.token_ids:
            body["prompt_token_ids"] = self.prompt
        return body

    async def chunks(self) -> AsyncGenerator[dict[str, Any]]:
        """The stream's chunks: first the role, then deltas as they are certain, each with its tokens."""
        try:
            for choice in self.choices:
                first = self._chunk(choice, {"role": "assistant", "content": ""})
                if self._request.token_ids:
                    first["prompt_token_ids"] = self.prompt
                yield first
            open_choices = list(self.choices)
            while open_choices:
                await self._next()
                for choice in open_choices[:]:
                    for chunk in self._progress(choice):
                        yield chunk
                    if choice.finished:
                        open_choices.remove(choice)
            if self._request.include_usage:
                yield self._head("chat.completion.chunk") | {"choices": [], "usage": self._usage()}
        finally:
            self._owner.release(self)

    async def _next(self) -> None:
        error = await self.news.get()
        if error is not None:
            raise error

    def _progress(self, choice: CompletionChoice) -> list[dict[str, Any]]:
        """The chunks of what one choice has sampled since; its tokens are on the first of them."""
        calls_before = len(choice.calls)
        parts, start, end = choice.advance()
        if start == end and not choice.finished:
            return []
        call_index = itertools.count(calls_before)
        deltas: list[dict[str, Any]] = []
        for part in parts:
            if isinstance(part, ParsedCall):
                index = next(call_index)
                deltas.append({"tool_calls": [{"index": index} | choice.call_object(index)]})
            else:
                deltas.append({"content": part.text})
        chunks = [self._chunk(choice, delta) for delta in deltas or [{}]]
        chunks[0]["choices"][0] |= self._token_fields(choice, start, end)
        if choice.finished:
            chunks.append(self._chunk(choice, {}))
            chunks[-1]["choices"][0]["finish_reason"] = choice.finish_reason
            chunks[-1]["choices"][0]["weight_versions"] = choice.versions()
        return chunks

    def _token_fields(self, choice: CompletionChoice, start: int, end: int) -> dict[str, Any]:
        fields: dict[str, Any] = {"logprobs": choice.logprobs(start, end)}
        if self._request.token_ids:
            fields["token_ids"] = choice.sequence.tokens[start:end]
        return fields

    def _choice_object(self, choice: CompletionChoice) -> dict[str, Any]:
        return {
            "index": choice.index,
            "message": choice.message(),
            "finish_reason": choice.finish_reason,
            "weight_versions": choice.versions(),
        } | self._token_fields(choice, 0, len(choice.sequence.tokens))

    def _chunk(self, choice: CompletionChoice, delta: dict[str, Any]) -> dict[str, Any]:
        return self._head("chat.completion.chunk") | {
            "choices": [{"index": choice.index, "delta": delta, "logprobs": None, "finish_reason": None}]
        }

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self._created, "model": self._request.model}

    def _usage(self) -> dict[str, Any]:
        sampled = sum(len(choice.sequence.tokens) for choice in self.choices)
        return {
            "prompt_tokens": len(self.prompt),
            "completion_tokens": sampled,
            "total_tokens": len(self.prompt) + sampled,
            "prompt_tokens_details": {"cached_tokens": self.choices[0].sequence.cached},
        }
