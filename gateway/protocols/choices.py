"""Answers that are a list of choices, plain or in chunks: what Chat Completions and Completions share.

Token capture adds fields to the request; what the client did not ask for is taken out of the answer here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from crosswind.gateway.http.sse import DONE, SseEvent, replace_event_data
from crosswind.gateway.protocols.answer import Chunk, SingleRoundReader
from crosswind.gateway.protocols.coercion import as_object
from crosswind.gateway.protocols.deferred_chunks import DeferredEvents, count_deferrable, read_chunks
from crosswind.gateway.protocols.document import encode
from crosswind.gateway.protocols.sampled_tokens import (
    SampledChoice,
    make_completion,
    versions_cover_tokens,
    well_formed,
)
from crosswind.gateway.trajectory.fitness import Fitness
from crosswind.gateway.trajectory.record import Completion

FINISHED = frozenset({"stop", "length", "tool_calls", "function_call", "content_filter"})
"""The finish reasons of a choice that came to its end; any other one, such as `abort`, broke it off."""

_APART = frozenset({"choices", "usage", "prompt_token_ids"})
UNASKED = ("token_ids", "prompt_token_ids")


ChoiceT = TypeVar("ChoiceT", bound=SampledChoice)


class ChoicesAnswer(SingleRoundReader, ABC, Generic[ChoiceT]):
    """Collects one answer. `asked`: the capture fields that the client itself asked for."""

    kind: str
    """The `object` of a plain answer."""

    def __init__(self, *, choices: int, captured: bool, asked: frozenset[str]) -> None:
        self._expected = choices
        self._captured = captured
        self._asked = asked
        self._choices: dict[int, ChoiceT] = {}
        self._head: dict[str, Any] = {}
        self._plain: bytes | None = None
        self._deferred = DeferredEvents()
        self._prompt_ids: list[int] | None = None
        self._usage: dict[str, Any] = {}
        self._error: dict[str, Any] | None = None

    @abstractmethod
    def _new_choice(self) -> ChoiceT:
        """A choice of which nothing has come."""

    @abstractmethod
    def _grow(self, choice: ChoiceT, raw: Mapping[str, Any]) -> None:
        """Take in what a choice of a body or of a chunk says, and its log-probabilities."""

    @abstractmethod
    def _message_members(self, choice: ChoiceT) -> dict[str, Any]:
        """What the choice says, as members of a plain answer's choice."""

    def _calls_tools(self, raw: Mapping[str, Any]) -> bool:
        """Whether a chunk's choice has a part of a tool call."""
        return False

    def read_body(self, body: bytes) -> bytes:
        """Read a plain answer; gives the body for the client."""
        answer = as_object(body)
        if answer is None:
            self._plain = body
            return body
        self._take(answer)
        delivered = encode(self._strip(answer, streamed=False)) if self._captured else body
        self._plain = delivered
        return delivered

    def read_event(self, event: SseEvent) -> Chunk:
        """Read one event of a streamed answer."""
        self._catch_up()
        if event.data == DONE:
            return Chunk(event.raw, ended=True)
        chunk = as_object(event.data) if event.data else None
        if chunk is None:
            return Chunk(event.raw)
        finished = self._take(chunk)
        calls = any(self._calls_tools(choice) for choice in _choices(chunk))
        if not self._captured:
            return Chunk(event.raw, calls, finished)
        only_usage = not _choices(chunk) and "usage" in chunk and "usage" not in self._asked
        idle = only_usage or self._only_tokens(chunk)
        raw = b"" if idle else replace_event_data(event, encode(self._strip(chunk, streamed=True)))
        return Chunk(raw, calls, finished)

    def _only_tokens(self, chunk: Mapping[str, Any]) -> bool:
        """Whether a chunk came only for the tokens in it, which the client didn't ask for: engines send none
        where a token has no text yet.
        """
        choices = _choices(chunk)
        return (
            bool(choices)
            and self._asked.isdisjoint(("logprobs", "token_ids"))
            and "usage" not in chunk
            and all(choice.get("delta") == {} and not choice.get("finish_reason") for choice in choices)
        )

    def defer(self, events: bytes) -> int:
        """Take whole events to read them later, as far as they only say more of what is being said."""
        if self._captured or not (taken := count_deferrable(events)):
            return 0
        if self._deferred.take(events[:taken]):
            self._catch_up()
        return taken

    def _catch_up(self) -> None:
        """Read what was deferred."""
        if self._deferred:
            self._take_all(self._deferred.events())

    def _take_all(self, events: bytes) -> None:
        for chunk in read_chunks(events):
            self._take(chunk)

    def _take(self, answer: Mapping[str, Any]) -> bool:
        """Take in a body or a chunk; True where it brings the last finish_reason."""
        head = self._head
        for name, value in answer.items():
            if name in _APART:
                self._take_apart(name, value)
            elif value is not None and name not in head:
                head[name] = value
        if isinstance(answer.get("error"), dict):
            self._error = answer["error"]
        finishing = False
        for raw in _choices(answer):
            index = raw.get("index")
            number = index if isinstance(index, int) else 0
            choice = self._choices.get(number)
            if choice is None:
                choice = self._choices[number] = self._new_choice()
            self._grow(choice, raw)
            finishing |= choice.take(raw)
        return finishing and self.finished

    def _take_apart(self, name: str, value: Any) -> None:
        """What of a body or of a chunk isn't its head."""
        if name == "usage" and isinstance(value, dict):
            self._usage = value
        elif name == "prompt_token_ids" and isinstance(value, list):
            self._prompt_ids = value

    @property
    def prompt_ids(self) -> list[int] | None:
        """The prompt's token ids, where the engine gave them."""
        self._catch_up()
        return self._prompt_ids

    @property
    def usage(self) -> dict[str, Any]:
        """The usage as the upstream reported it."""
        self._catch_up()
        return self._usage

    @property
    def error(self) -> dict[str, Any] | None:
        """An error that the answer itself carries."""
        self._catch_up()
        return self._error

    @property
    def finished(self) -> bool:
        """Whether every choice that was asked for has its finish_reason."""
        self._catch_up()
        return len(self._choices) >= self._expected and all(c.finish_reason for c in self._choices.values())

    def _strip(self, answer: dict[str, Any], *, streamed: bool) -> dict[str, Any]:
        """Take out what token capture added and the client did not ask for."""
        if streamed and "usage" not in self._asked:
            answer.pop("usage", None)
        for holder in (answer, *_choices(answer)):
            holder.pop("weight_versions", None)
            if "token_ids" not in self._asked:
                for name in UNASKED:
                    holder.pop(name, None)
        for choice in _choices(answer):
            if "logprobs" not in self._asked and "logprobs" in choice:
                choice["logprobs"] = None
        return answer

    def produced_body(self) -> bytes:
        """The answer as one plain body: what came, or what a stream's chunks amount to."""
        if self._plain is not None:
            return self._plain
        self._catch_up()
        if not self._choices:
            return encode(self._head)
        choices = [
            {"index": index, **self._message_members(choice), "finish_reason": choice.finish_reason}
            for index, choice in sorted(self._choices.items())
        ]
        head = self._head | {"object": self.kind, "choices": choices}
        return encode(head | {"usage": self._usage} if self._usage else head)

    def head_text(self, name: str) -> str | None:
        """A text member of the answer's head: `id`, `model`."""
        self._catch_up()
        value = self._head.get(name)
        return value if isinstance(value, str) else None

    def completions(self) -> tuple[Completion, ...]:
        """The choices as sampled."""
        self._catch_up()
        found = (make_completion(index, choice) for index, choice in sorted(self._choices.items()))
        return tuple(one for one in found if one is not None)

    def fitness(self) -> Fitness:
        """FIT, or the first reason why this answer can't be trained on."""
        self._catch_up()
        ids = sum(len(choice.token_ids) for choice in self._choices.values())
        if self.error is not None:
            return Fitness.UPSTREAM_ERROR
        if not self.finished:
            return Fitness.FINISH_NOT_SEEN
        if any(choice.finish_reason not in FINISHED for choice in self._choices.values()):
            return Fitness.ABORTED
        if not ids or not self.prompt_ids:
            return Fitness.ENGINE_NO_TOKENS if self._captured else Fitness.NO_TOKEN_IDS
        return self._agreement(ids)

    def _agreement(self, ids: int) -> Fitness:
        """FIT where all that the engine says of its `ids` tokens agrees."""
        if not all(well_formed(index, choice) for index, choice in self._choices.items()):
            return Fitness.TOKEN_IDS_MALFORMED
        if any(len(choice.token_ids) != len(choice.logprobs) for choice in self._choices.values()):
            return Fitness.IDS_LOGPROBS_MISMATCH
        if not all(versions_cover_tokens(choice) for choice in self._choices.values()):
            return Fitness.VERSIONS_MISMATCH
        return Fitness.FIT if self.usage.get("completion_tokens") == ids else Fitness.USAGE_MISMATCH


def _choices(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    choices = answer.get("choices")
    return [choice for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []
