"""Answers that are a list of choices, plain or in chunks: Chat Completions and Completions.

Token capture adds fields to the request; those that the client didn't ask for are taken out of the answer
here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from crosswind.gateway.http.sse import DONE, SseEvent, replace_event_data
from crosswind.gateway.protocols.answer import AnswerReader, Chunk
from crosswind.gateway.protocols.json_values import as_mappings, as_object, encode
from crosswind.gateway.protocols.sampled_tokens import (
    SampledChoice,
    make_completion,
    versions_cover_tokens,
    well_formed,
)
from crosswind.gateway.trajectory.fitness import Fitness
from crosswind.gateway.trajectory.record import Completion

FINISHED = frozenset({"stop", "length", "tool_calls", "function_call", "content_filter"})
"""The finish reasons of a complete choice; any other, such as `abort`, broke it off."""

_APART = frozenset({"choices", "usage", "prompt_token_ids"})
_TOKEN_IDS = ("token_ids", "prompt_token_ids")


ChoiceT = TypeVar("ChoiceT", bound=SampledChoice)


class ChoicesAnswer(AnswerReader, Generic[ChoiceT]):
    """Reads one answer. `asked`: the fields of token capture that the client itself asked for."""

    kind: str
    """The `object` of a plain answer."""
    prompt_ids: list[int] | None = None
    usage: Mapping[str, Any] = {}
    error: Mapping[str, Any] | None = None
    _plain: bytes | None = None
    _unread = False
    """Tokens and texts were kept to be read together: `_catch_up` reads them."""

    def __init__(self, *, choices: int, captured: bool, asked: frozenset[str]) -> None:
        self._expected = choices
        self._captured = captured
        self._asked = asked
        self._choices: dict[int, ChoiceT] = {}
        self._head: dict[str, Any] = {}

    @abstractmethod
    def _new_choice(self) -> ChoiceT:
        """An empty choice."""

    @abstractmethod
    def _grow(self, choice: ChoiceT, raw: Mapping[str, Any]) -> None:
        """Take in a choice of a body or of a chunk, with its log-probabilities."""

    @abstractmethod
    def _message_members(self, choice: ChoiceT) -> dict[str, Any]:
        """The members of a plain answer's choice that hold what it says."""

    def _calls_tools(self, raw: Mapping[str, Any]) -> bool:
        """Whether a choice of a chunk has a part of a tool call."""
        return False

    def read_body(self, body: bytes) -> bytes:
        self._plain = body
        answer = as_object(body)
        if answer is not None:
            self._take(answer)
            if self._captured:
                self._plain = encode(self._strip(answer, streamed=False))
        return self._plain

    def read_event(self, event: SseEvent) -> Chunk:
        if self._unread:
            self._catch_up()
        if event.data == DONE:
            return Chunk(event.raw, ended=True)
        chunk = as_object(event.data) if event.data else None
        if chunk is None:
            return Chunk(event.raw)
        finished = self._take(chunk)
        choices = as_mappings(chunk.get("choices"))
        calls = any(self._calls_tools(choice) for choice in choices)
        if not self._captured:
            return Chunk(event.raw, calls, finished)
        only_usage = not choices and "usage" in chunk and "usage" not in self._asked
        idle = only_usage or self._has_only_tokens(chunk, choices)
        raw = b"" if idle else replace_event_data(event, encode(self._strip(chunk, streamed=True)))
        return Chunk(raw, calls, finished)

    def _has_only_tokens(self, chunk: Mapping[str, Any], choices: list[dict[str, Any]]) -> bool:
        """Whether a chunk has only tokens, which the client didn't ask for: engines send such chunks where a
        token has no text yet.
        """
        return (
            bool(choices)
            and self._asked.isdisjoint(("logprobs", "token_ids"))
            and "usage" not in chunk
            and all(choice.get("delta") == {} and not choice.get("finish_reason") for choice in choices)
        )

    def _catch_up(self) -> None:
        """Read what was kept unread."""

    def _take(self, answer: Mapping[str, Any]) -> bool:
        """Take in a body or a chunk; True if it brings the last finish_reason."""
        head = self._head
        for name, value in answer.items():
            if name in _APART:
                if name == "usage" and isinstance(value, dict):
                    self.usage = value
                elif name == "prompt_token_ids" and isinstance(value, list):
                    self.prompt_ids = value
            elif value is not None and name not in head:
                head[name] = value
        if isinstance(answer.get("error"), dict):
            self.error = answer["error"]
        finishing = False
        for raw in as_mappings(answer.get("choices")):
            index = raw.get("index")
            number = index if isinstance(index, int) else 0
            choice = self._choices.get(number)
            if choice is None:
                choice = self._choices[number] = self._new_choice()
            self._grow(choice, raw)
            finishing |= choice.take(raw)
        return finishing and self.finished

    @property
    def finished(self) -> bool:
        """Whether all choices have come, each with its finish_reason."""
        if len(self._choices) < self._expected:
            return False
        for choice in self._choices.values():  # noqa: SIM110 a generator costs more than all it does
            if not choice.finish_reason:
                return False
        return True

    def _strip(self, answer: dict[str, Any], *, streamed: bool) -> dict[str, Any]:
        """Take out the fields that token capture added."""
        if streamed and "usage" not in self._asked:
            answer.pop("usage", None)
        choices = as_mappings(answer.get("choices"))
        for holder in (answer, *choices):
            holder.pop("weight_versions", None)
            if "token_ids" not in self._asked:
                for name in _TOKEN_IDS:
                    holder.pop(name, None)
        for choice in choices:
            if "logprobs" not in self._asked and "logprobs" in choice:
                choice["logprobs"] = None
        return answer

    def produced_body(self) -> bytes:
        if self._plain is not None:
            return self._plain
        if self._unread:
            self._catch_up()
        if not self._choices:
            return encode(self._head)
        choices = [
            {"index": index, **self._message_members(choice), "finish_reason": choice.finish_reason}
            for index, choice in sorted(self._choices.items())
        ]
        head = self._head | {"object": self.kind, "choices": choices}
        return encode(head | {"usage": self.usage} if self.usage else head)

    def head_text(self, name: str) -> str | None:
        value = self._head.get(name)
        return value if isinstance(value, str) else None

    def completions(self) -> tuple[Completion, ...]:
        if self._unread:
            self._catch_up()
        choices = sorted(self._choices.items())
        return tuple([one for at, choice in choices if (one := make_completion(at, choice)) is not None])

    def _check_sampled(self) -> Fitness:
        if self._unread:
            self._catch_up()
        ids = 0
        for choice in self._choices.values():
            if choice.finish_reason not in FINISHED:
                return Fitness.ABORTED
            ids += len(choice.token_ids)
        if not ids or not self.prompt_ids:
            return Fitness.ENGINE_NO_TOKENS if self._captured else Fitness.NO_TOKEN_IDS
        return self._check_tokens(ids)

    def _check_tokens(self, ids: int) -> Fitness:
        """FIT if everything that the engine says about its `ids` tokens agrees."""
        choices = self._choices.values()
        if not all(well_formed(index, choice) for index, choice in self._choices.items()):
            return Fitness.TOKEN_IDS_MALFORMED
        if any(len(choice.token_ids) != len(choice.logprobs) for choice in choices):
            return Fitness.IDS_LOGPROBS_MISMATCH
        if not all(versions_cover_tokens(choice) for choice in choices):
            return Fitness.VERSIONS_MISMATCH
        return Fitness.FIT if self.usage.get("completion_tokens") == ids else Fitness.USAGE_MISMATCH
