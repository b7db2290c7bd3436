"""What an agent has seen so far, read with care: which calls have a sound result, which need another try."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simulators.environment import Message

ATTEMPTS = 4
"""Calls of one kind and arguments before it is given up."""

DOUBTS = ("error", "errors", "incomplete", "partial", "stale", "truncated", "uncertain")
"""Fields by which a result says that it isn't to be relied on."""

DISPUTES = ("_on_file", "_confirmed", "_per_record")
"""Endings of fields that give another value of the field that they are named after."""


class NextCall(Exception):
    """Raised where a plan can't go on without this call."""

    def __init__(self, name: str, arguments: Mapping[str, Any]) -> None:
        super().__init__(name)
        self.name = name
        self.arguments = dict(arguments)


class GaveUp(Exception):
    """Raised where a tool failed too often; the text is the last that it said."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A call and the text that came back."""

    name: str
    arguments: Mapping[str, Any]
    text: str


class Transcript:
    """The messages of an episode as calls with their results, and the user's texts."""

    def __init__(self, user_texts: Sequence[str], exchanges: Sequence[Exchange]) -> None:
        self.user_texts = user_texts
        self.exchanges = exchanges

    @classmethod
    def of(cls, messages: Sequence[Message]) -> Transcript:
        """The transcript of a conversation's messages."""
        texts = [str(message["content"]) for message in messages if message["role"] == "user"]
        return cls(texts, list(_exchanges(messages)))

    def until(self, tool: str) -> Transcript:
        """The same up to the first call of that tool: the world as it was before."""
        names = [made.name for made in self.exchanges]
        return Transcript(
            self.user_texts, self.exchanges[: names.index(tool)] if tool in names else self.exchanges
        )

    def read(
        self, name: str, arguments: Mapping[str, Any], *fields: str, since: int = 0
    ) -> Mapping[str, Any]:
        """The newest sound result of this call, from exchange `since` on; NextCall where there is none."""
        tried = [seen for seen in self.exchanges[since:] if seen.name == name and seen.arguments == arguments]
        for seen in reversed(tried):
            found = sound_result(seen.text, arguments, fields)
            if found is not None:
                return found
        if len(tried) >= ATTEMPTS:
            raise GaveUp(tried[-1].text)
        raise NextCall(name, arguments)

    def write(
        self,
        call: tuple[str, Mapping[str, Any]],
        confirm: tuple[str, Mapping[str, Any]],
        field: str,
        value: str,
    ) -> None:
        """Return once the write took effect. After an unsound result, look before writing again."""
        name, arguments = call
        tried = [
            at for at, seen in enumerate(self.exchanges) if seen.name == name and seen.arguments == arguments
        ]
        if not tried:
            raise NextCall(name, arguments)
        if sound_result(self.exchanges[tried[-1]].text, arguments, (field,)) is not None:
            return
        if self.read(*confirm, field, since=tried[-1] + 1)[field] == value:
            return
        if len(tried) >= ATTEMPTS:
            raise GaveUp(self.exchanges[tried[-1]].text)
        raise NextCall(name, arguments)


def sound_result(text: str, arguments: Mapping[str, Any], fields: Sequence[str]) -> Mapping[str, Any] | None:
    """The object in a result that has all the fields and answers this call; None if there is no such object.

    Whatever stands around the object, or in it besides the fields, is ignored.
    """
    for found in _objects(text):
        answers = all(found.get(name, value) == value for name, value in arguments.items())
        complete = all(name in found for name in fields)
        lists = [value for value in found.values() if isinstance(value, list)]
        whole = "count" not in fields or any(len(value) == found["count"] for value in lists if complete)
        if answers and complete and whole and not _in_doubt(found):
            return found
    return None


def _in_doubt(value: Any) -> bool:
    """Whether a result says of itself that it isn't to be relied on, or disputes one of its own values."""
    if isinstance(value, list):
        return any(map(_in_doubt, value))
    if not isinstance(value, dict):
        return False
    disputed = any(
        name.removesuffix(ending) in value and value[name.removesuffix(ending)] != told
        for name, told in value.items()
        for ending in DISPUTES
        if name.endswith(ending)
    )
    return disputed or any(value.get(mark) for mark in DOUBTS) or any(map(_in_doubt, value.values()))


def _objects(text: str) -> Iterator[dict[str, Any]]:
    decoder = json.JSONDecoder()
    at = text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except ValueError:
            end = at + 1
        else:
            if isinstance(value, dict):
                yield value
        at = text.find("{", end)


def _exchanges(messages: Sequence[Message]) -> Iterator[Exchange]:
    results: dict[str, str] = {m["tool_call_id"]: str(m["content"]) for m in messages if m["role"] == "tool"}
    for message in messages:
        for call in message.get("tool_calls") or ():
            if call["id"] in results:
                function = call["function"]
                yield Exchange(function["name"], json.loads(function["arguments"]), results[call["id"]])
