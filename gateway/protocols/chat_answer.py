"""Chat Completions: what the policy answered, read from a plain body or from a stream's chunks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gateway.protocols.choices import ChoicesAnswer, Sampled, as_mapping, likeliest


@dataclass(slots=True)
class Choice(Sampled):
    """One choice as it has come so far."""

    message: dict[str, Any] = field(default_factory=dict)
    calls: dict[int, dict[str, Any]] = field(default_factory=dict)


class ChatAnswer(ChoicesAnswer[Choice]):
    """Collects one answer: messages, and their deltas in a stream."""

    kind = "chat.completion"

    def _new(self) -> Choice:
        return Choice()

    def _calls_tools(self, raw: Mapping[str, Any]) -> bool:
        return bool(as_mapping(raw.get("delta")).get("tool_calls"))

    def _grow(self, choice: Choice, raw: Mapping[str, Any]) -> None:
        part = as_mapping(raw.get("delta") if "delta" in raw else raw.get("message"))
        for name, value in part.items():
            if name == "tool_calls" and isinstance(value, list):
                _read_calls(choice, value)
            elif isinstance(value, str) and isinstance(choice.message.get(name), str) and name != "role":
                choice.message[name] += value
            elif value is not None or name not in choice.message:
                choice.message[name] = value
        content = as_mapping(raw.get("logprobs")).get("content")
        for entry in content if isinstance(content, list) else []:
            if isinstance(entry, dict) and isinstance(entry.get("logprob"), int | float):
                choice.logprobs.append(float(entry["logprob"]))
                choice.top.append(_top(entry.get("top_logprobs")))

    def _said(self, choice: Choice) -> dict[str, Any]:
        return {"message": _message(choice)}

    def content(self) -> str | None:
        """The first choice's text."""
        choice = self._choices.get(0)
        content = choice.message.get("content") if choice else None
        return content if isinstance(content, str) else None


def _read_calls(choice: Choice, deltas: list[Any]) -> None:
    for position, delta in enumerate(deltas):
        if not isinstance(delta, dict):
            continue
        index = delta.get("index", position)
        call = choice.calls.setdefault(index if isinstance(index, int) else position, {})
        function = call.setdefault("function", {})
        for name, value in as_mapping(delta.get("function")).items():
            joined = isinstance(value, str) and isinstance(function.get(name), str)
            function[name] = function[name] + value if joined else value
        call.update(
            {name: value for name, value in delta.items() if name not in ("index", "function") and value}
        )


def _message(choice: Choice) -> dict[str, Any]:
    message = {"role": "assistant", "content": None} | choice.message
    calls = [call for _, call in sorted(choice.calls.items())]
    return message | {"tool_calls": calls} if calls else message


def _top(entries: Any) -> tuple[tuple[int, float], ...]:
    if not isinstance(entries, list) or not entries:
        return ()
    return likeliest((as_mapping(one).get("token"), as_mapping(one).get("logprob")) for one in entries)
