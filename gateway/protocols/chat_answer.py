"""Chat Completions: what the policy answered, read from a plain body or from a stream's chunks.

Token capture adds fields to the request; what the client did not ask for is taken out of the answer here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from gateway.protocols.answer import Chunk, SingleRound
from gateway.protocols.document import encode
from gateway.sse import DONE, Event, with_data
from gateway.trajectory.record import FIT, Completion, VersionSpan

_FINISHED = frozenset({"stop", "length", "tool_calls", "function_call", "content_filter"})


@dataclass(slots=True)
class Choice:
    """One choice as it has come so far."""

    message: dict[str, Any] = field(default_factory=dict)
    calls: dict[int, dict[str, Any]] = field(default_factory=dict)
    token_ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    versions: list[VersionSpan] = field(default_factory=list)
    finish_reason: str | None = None


class ChatAnswer(SingleRound):
    """Collects one answer. `asked`: the capture fields that the client itself asked for."""

    def __init__(self, *, choices: int, captured: bool, asked: frozenset[str]) -> None:
        self._expected = choices
        self._captured = captured
        self._asked = asked
        self._choices: dict[int, Choice] = {}
        self._head: dict[str, Any] = {}
        self._plain: bytes | None = None
        self.prompt_ids: list[int] | None = None
        self.usage: dict[str, Any] = {}
        self.error: dict[str, Any] | None = None

    def read_body(self, body: bytes) -> bytes:
        """Read a plain answer; gives the body for the client."""
        answer = _object(body)
        if answer is None:
            self._plain = body
            return body
        self._take(answer)
        delivered = encode(self._stripped(answer)) if self._captured else body
        self._plain = delivered
        return delivered

    def read_event(self, event: Event) -> Chunk:
        """Read one event of a streamed answer."""
        if event.data == DONE:
            return Chunk(event.raw, ended=True)
        chunk = _object(event.data) if event.data else None
        if chunk is None:
            return Chunk(event.raw)
        finished = self._take(chunk)
        calls = any(_mapping(choice.get("delta")).get("tool_calls") for choice in _choices(chunk))
        if not self._captured:
            return Chunk(event.raw, calls, finished)
        only_usage = not _choices(chunk) and "usage" in chunk and "usage" not in self._asked
        raw = b"" if only_usage else with_data(event, encode(self._stripped(chunk)))
        return Chunk(raw, calls, finished)

    def _take(self, answer: Mapping[str, Any]) -> bool:
        """Take in a body or a chunk; True where it brings the last finish_reason."""
        if isinstance(answer.get("error"), dict):
            self.error = answer["error"]
        if isinstance(answer.get("prompt_token_ids"), list):
            self.prompt_ids = answer["prompt_token_ids"]
        if isinstance(answer.get("usage"), dict):
            self.usage = answer["usage"]
        for name, value in answer.items():
            if name not in ("choices", "usage", "prompt_token_ids") and value is not None:
                self._head.setdefault(name, value)
        finishing = False
        for raw in _choices(answer):
            index = raw.get("index")
            choice = self._choices.setdefault(index if isinstance(index, int) else 0, Choice())
            finishing |= _read_choice(choice, raw)
        return finishing and self.finished

    @property
    def finished(self) -> bool:
        """Whether every choice that was asked for has its finish_reason."""
        return len(self._choices) >= self._expected and all(c.finish_reason for c in self._choices.values())

    def _stripped(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Take out what token capture added and the client did not ask for."""
        if "token_ids" not in self._asked:
            answer.pop("prompt_token_ids", None)
        streamed = answer.get("object") == "chat.completion.chunk"
        if streamed and "usage" not in self._asked:
            answer.pop("usage", None)
        for choice in _choices(answer):
            choice.pop("weight_versions", None)
            if "token_ids" not in self._asked:
                choice.pop("token_ids", None)
            if "logprobs" not in self._asked and "logprobs" in choice:
                choice["logprobs"] = None
        return answer

    def produced(self) -> bytes:
        """The answer as one plain body: what came, or what a stream's chunks amount to."""
        if self._plain is not None:
            return self._plain
        if not self._choices:
            return encode(self._head)
        choices = [
            {"index": index, "message": _message(choice), "finish_reason": choice.finish_reason}
            for index, choice in sorted(self._choices.items())
        ]
        head = self._head | {"object": "chat.completion", "choices": choices}
        return encode(head | {"usage": self.usage} if self.usage else head)

    def content(self) -> str | None:
        """The first choice's text."""
        choice = self._choices.get(0)
        content = choice.message.get("content") if choice else None
        return content if isinstance(content, str) else None

    def text(self, name: str) -> str | None:
        """A text member of the answer's head: `id`, `model`."""
        value = self._head.get(name)
        return value if isinstance(value, str) else None

    def completions(self) -> tuple[Completion, ...]:
        """The choices as sampled."""
        return tuple(
            Completion(index, tuple(c.token_ids), tuple(c.logprobs), c.finish_reason, tuple(c.versions))
            for index, c in sorted(self._choices.items())
        )

    def fitness(self) -> str:
        """FIT, or the first reason why this answer can't be trained on."""
        ids = sum(len(choice.token_ids) for choice in self._choices.values())
        if self.error is not None:
            return "upstream_error"
        if not self.finished:
            return "finish_not_seen"
        if any(choice.finish_reason not in _FINISHED for choice in self._choices.values()):
            return "aborted"
        if not ids or not self.prompt_ids:
            return "engine_no_tokens" if self._captured else "no_token_ids"
        if any(len(choice.token_ids) != len(choice.logprobs) for choice in self._choices.values()):
            return "ids_logprobs_mismatch"
        return FIT if self.usage.get("completion_tokens") == ids else "usage_mismatch"


def _read_choice(choice: Choice, raw: Mapping[str, Any]) -> bool:
    part = _mapping(raw.get("delta") if "delta" in raw else raw.get("message"))
    for name, value in part.items():
        if name == "tool_calls" and isinstance(value, list):
            _read_calls(choice, value)
        elif isinstance(value, str) and isinstance(choice.message.get(name), str) and name != "role":
            choice.message[name] += value
        elif value is not None or name not in choice.message:
            choice.message[name] = value
    if isinstance(raw.get("token_ids"), list):
        choice.token_ids += raw["token_ids"]
    content = _mapping(raw.get("logprobs")).get("content")
    for entry in content if isinstance(content, list) else []:
        if isinstance(entry, dict) and isinstance(entry.get("logprob"), int | float):
            choice.logprobs.append(float(entry["logprob"]))
    choice.versions += _versions(raw.get("weight_versions"))
    if isinstance(raw.get("finish_reason"), str):
        choice.finish_reason = raw["finish_reason"]
        return True
    return False


def _versions(spans: Any) -> list[VersionSpan]:
    return [
        VersionSpan(str(span.get("version")), span["start"], span["end"])
        for span in (spans if isinstance(spans, list) else [])
        if isinstance(span, dict) and isinstance(span.get("start"), int) and isinstance(span.get("end"), int)
    ]


def _read_calls(choice: Choice, deltas: list[Any]) -> None:
    for position, delta in enumerate(deltas):
        if not isinstance(delta, dict):
            continue
        index = delta.get("index", position)
        call = choice.calls.setdefault(index if isinstance(index, int) else position, {})
        function = call.setdefault("function", {})
        for name, value in _mapping(delta.get("function")).items():
            joined = isinstance(value, str) and isinstance(function.get(name), str)
            function[name] = function[name] + value if joined else value
        call.update(
            {name: value for name, value in delta.items() if name not in ("index", "function") and value}
        )


def _message(choice: Choice) -> dict[str, Any]:
    message = {"role": "assistant", "content": None} | choice.message
    calls = [call for _, call in sorted(choice.calls.items())]
    return message | {"tool_calls": calls} if calls else message


def _choices(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    choices = answer.get("choices")
    return [choice for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []


def _object(data: bytes) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return value if isinstance(value, dict) else None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
